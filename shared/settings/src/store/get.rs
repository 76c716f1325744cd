//! Reads the document: `{ document, version }`, null and 0 before the first put.

use ars_sql::{Sql, Value};
use ars_store::{StoreFailure, json::parse_body, key_of};
use ars_wire::state::{ConfigVerb, Verb as _};

use super::ConfigStore;

const DOCUMENT: &str = "SELECT '{\"document\":' || document || ',\"version\":' || version || '}' FROM config_documents WHERE key = ?";

impl<S: Sql> ConfigStore<S> {
    /// Handles `/config/get`. It reads only the key, but rejects an invalid body like every route.
    pub(super) fn get(&self, body: &str) -> Result<S::Text, StoreFailure> {
        let key = key_of(body, ConfigVerb::KEY)?;
        parse_body(body)?;
        let found = self.sql.text(DOCUMENT, &[Value::from(key.as_str())])?;
        Ok(found.unwrap_or_else(|| S::Text::from(r#"{"document":null,"version":0}"#.to_owned())))
    }
}
