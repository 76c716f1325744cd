//! The broken guarantees found so far.

use serde_json::Value;

/// A broken guarantee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The guarantee.
    pub promise: &'static str,
    /// The observation.
    pub seen: String,
}

/// Collects broken guarantees.
#[derive(Default)]
pub(super) struct Found(pub(super) Vec<Violation>);

impl Found {
    /// Adds a broken guarantee unless it `is_kept`.
    pub(super) fn unless(
        &mut self,
        is_kept: bool,
        promise: &'static str,
        seen: impl FnOnce() -> String,
    ) {
        if !is_kept {
            self.0.push(Violation {
                promise,
                seen: seen(),
            });
        }
    }
}

/// Returns the events of a record.
pub(super) fn events(record: &Value) -> &[Value] {
    record["events"].as_array().map_or(&[], Vec::as_slice)
}
