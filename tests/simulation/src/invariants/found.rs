//! The broken guarantees found so far.

use serde_json::Value;

/// A guarantee that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which guarantee was broken.
    pub promise: &'static str,
    /// What was observed.
    pub seen: String,
}

/// Collects the broken guarantees.
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

/// Returns a record's events.
pub(super) fn events(record: &Value) -> &[Value] {
    record["events"].as_array().map_or(&[], Vec::as_slice)
}
