//! A ledger's key.

use serde_json::{Map, Value as Json};

use ars_store::Refusal;

/// Returns the ledger key from a body. The shell checks the grammar (`ars_store::key_of`).
pub(super) fn ledger(body: &Map<String, Json>) -> Result<&str, Refusal> {
    let key = body.get("ledgerKey").and_then(Json::as_str);
    key.ok_or_else(|| Refusal::field("ledgerKey", "must be a string"))
}
