//! `/list`: returns active records, newest first, without counting a use.

use ars_sql::{Sql, Value};
use ars_store::{JsonListAnswer, StoreFailure, json::parse_body};

use super::{
    MemoryStore, request,
    rows::{NO_RECORDS, any_of, travelling},
};
use crate::record_id;

/// Selects all active records.
const NEWEST: JsonListAnswer<'_> = JsonListAnswer {
    name: "records",
    rows: concat!(
        "SELECT n, ",
        travelling!(),
        " FROM memory_records WHERE status = 'active' ORDER BY n DESC LIMIT ?3"
    ),
    order: "n DESC",
};

/// Selects active records that match a query.
const MATCHING: JsonListAnswer<'_> = JsonListAnswer {
    name: "records",
    rows: concat!(
        "SELECT n, ",
        travelling!(),
        " FROM (SELECT rowid AS n FROM memory_index WHERE memory_index MATCH ?4 ORDER BY rowid DESC LIMIT ?3) \
         CROSS JOIN memory_records USING (n)"
    ),
    order: "n DESC",
};

impl<S: Sql> MemoryStore<S> {
    /// Handles a `/list` request.
    pub(super) fn list(&self, body: &str) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let scope_key = request::scope_key(&body)?;
        let limit = request::limit(&body)?;
        let mut params = vec![
            Value::from(record_id::prefix(scope_key)),
            Value::from(scope_key),
            Value::from(limit),
        ];
        match request::query(&body)? {
            None => Ok(NEWEST.answer(&self.sql, &params)?),
            Some(query) if query.is_empty() => Ok(S::Text::from(NO_RECORDS.to_owned())),
            Some(query) => {
                params.push(Value::from(any_of(&query.chosen())));
                Ok(MATCHING.answer(&self.sql, &params)?)
            }
        }
    }
}
