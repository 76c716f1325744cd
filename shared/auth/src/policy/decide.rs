//! Evaluates the table for a single actor, action and resource.

use super::{ROWS, Resource};
use crate::{Actor, Denied};

/// Decides whether the actor may perform the action. The reason is for the audit line, not for callers.
pub fn decide(actor: &Actor, action: &str, resource: &Resource<'_>) -> Result<(), Denied> {
    let mut refusal = None;
    let speaking = ROWS
        .iter()
        .filter(|row| row.resource == resource.kind() && row.actions.contains(&action));
    for row in speaking {
        let failed = row
            .when
            .iter()
            .find(|condition| !condition.holds(actor, action, resource));
        match failed {
            None => return Ok(()),
            Some(condition) => refusal = refusal.or(Some(condition.refusal())),
        }
    }
    Err(refusal.unwrap_or(Denied::NoRule))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
