//! Where a run keeps the description that its agent submits.

use std::sync::{Mutex, PoisonError};

use ars_codehost::pull_request::Description;

/// Holds a coding run's description. The last wins.
#[derive(Debug, Default)]
pub struct DescriptionSlot(Mutex<Option<Description>>);

impl DescriptionSlot {
    /// Replaces any earlier description.
    pub fn submit(&self, description: Description) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(description);
    }

    /// Returns the current description.
    pub fn current(&self) -> Option<Description> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
