//! Scopes that a call needs and the token lacks.

use serde_json::json;

use super::Answer;
use crate::slack::state::Workspace;

/// Returns the answer to a call without a scope.
pub(super) fn missing_scope(needed: &str, provided: &str) -> Answer {
    let fields = json!({ "needed": needed, "provided": provided });
    Answer::error_with("missing_scope", fields)
}

/// Checks a scope that only some arguments need.
pub(super) fn require(workspace: &Workspace, scope: &str) -> Result<(), Answer> {
    if workspace.has_scope(scope) {
        return Ok(());
    }
    let provided: Vec<&str> = workspace.scopes.iter().map(String::as_str).collect();
    Err(missing_scope(scope, &provided.join(",")))
}
