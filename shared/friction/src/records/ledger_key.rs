//! The key of a ledger.

use serde_json::{Map, Value as Json};

use ars_store::Refusal;

/// Returns the ledger's key from a body. The shell checks its grammar (`ars_store::key_of`).
pub(super) fn ledger(body: &Map<String, Json>) -> Result<&str, Refusal> {
    let key = body.get("ledgerKey").and_then(Json::as_str);
    key.ok_or_else(|| Refusal::field("ledgerKey", "must be a string"))
}
