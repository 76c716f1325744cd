//! Required responses that several requests share.

use serde_json::json;

use crate::ledger::expected::Expected;

/// The required response. The error is the early return from a request's method.
pub(super) type Answer = Result<Expected, Expected>;

pub(super) fn ok() -> Expected {
    Expected::ok(json!({ "ok": true }))
}

pub(super) fn fenced() -> Expected {
    Expected::refused("fenced")
}
