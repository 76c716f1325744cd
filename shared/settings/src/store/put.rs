//! Replaces the document: `{ ok, version }`, or 409 with the stored version.

use ars_sql::{Sql, SqlError, Value as Bound};
use ars_store::{Refusal, StoreFailure, json::parse_body, key_of, request::integer};
use ars_wire::{
    config::{PutResponse, Stale},
    state::{ConfigVerb, Verb as _},
};
use serde_json::{Map, Value};

use super::ConfigStore;
use crate::MAX_DOCUMENT_BYTES;

const VERSION_RULE: &str = "must be an integer of at least 0";

/// Compare-and-swap in a single statement. It yields no row if the version differs.
const SWAP: &str = "INSERT INTO config_documents (key, version, document) SELECT ?1, ?2 + 1, ?3 \
    WHERE ?2 = ifnull((SELECT version FROM config_documents WHERE key = ?1), 0) \
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, document = excluded.document RETURNING version";
const VERSION: &str = "SELECT version FROM config_documents WHERE key = ?";

impl<S: Sql> ConfigStore<S> {
    /// Handles a `/config/put` request.
    pub(super) fn put(&self, body: &str) -> Result<String, StoreFailure> {
        let key = Bound::from(key_of(body, ConfigVerb::KEY)?.as_str());
        let body = parse_body(body)?;
        let document = document(&body)?;
        let expected = integer(&body, "expectedVersion", 0..=i64::MAX, VERSION_RULE)?;
        let expected = expected.ok_or_else(|| Refusal::field("expectedVersion", VERSION_RULE))?;
        if let Some(version) =
            self.version(SWAP, &[key.clone(), expected.into(), document.into()])?
        {
            return text(&PutResponse { ok: true, version });
        }
        let version = self.version(VERSION, &[key])?.unwrap_or(0);
        let error = "the document has another version".to_owned();
        Err(Refusal::conflict(text(&Stale { error, version })?).into())
    }

    /// Returns the number that a statement yields, if it yields a row.
    fn version(&self, statement: &str, params: &[Bound]) -> Result<Option<u64>, SqlError> {
        let rows = self.sql.query(statement, params)?;
        let version = rows
            .first()
            .map(|row| row.integer(0))
            .transpose()?
            .map(u64::try_from);
        version
            .transpose()
            .map_err(|_| SqlError::Shape("a version below zero".into()))
    }
}

fn document(body: &Map<String, Value>) -> Result<String, Refusal> {
    let Some(document @ Value::Object(_)) = body.get("document") else {
        return Err(Refusal::field("document", "must be an object"));
    };
    let document = document.to_string();
    if document.len() > MAX_DOCUMENT_BYTES {
        return Err(Refusal::TooLarge(format!(
            "the document may have at most {MAX_DOCUMENT_BYTES} bytes"
        )));
    }
    Ok(document)
}

fn text(answer: &impl serde::Serialize) -> Result<String, StoreFailure> {
    serde_json::to_string(answer).map_err(|error| SqlError::Shape(error.to_string()).into())
}
