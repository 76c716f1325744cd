//! Tears down an offboarded resident. Parts that fail are retried until they succeed.

use std::collections::BTreeSet;

use ars_types::UnixMillis;

use super::machine::{Resident, Schedules, Slot};
use super::protocol::{Action, TeardownPart};

/// Teardown parts, in order.
const PARTS: [TeardownPart; 3] = [
    TeardownPart::Container,
    TeardownPart::Objects,
    TeardownPart::Storage,
];

impl Resident {
    /// Starts the teardown. The registry row is already removed.
    pub(super) fn offboard(&mut self) -> Vec<Action> {
        let actions = self.drop_cycle();
        self.schedules = Schedules::default();
        self.verified = None;
        self.facts = None;
        self.replace_snapshot(None);
        self.slot = Slot::Released;
        self.next = None;
        self.confirm_at = None;
        let mut parts = BTreeSet::new();
        parts.extend(PARTS);
        self.teardown = Some(parts);
        actions
    }

    /// Records that a part ended. After the last part the object is blank.
    pub(super) fn torn_down(
        &mut self,
        part: TeardownPart,
        ok: bool,
        now: UnixMillis,
    ) -> Vec<Action> {
        let Some(parts) = &mut self.teardown else {
            return Vec::new();
        };
        if ok {
            parts.remove(&part);
            // The storage follows at once when the other parts are done.
            if parts.len() == 1 {
                self.confirm_at = None;
            }
        }
        if self.teardown.as_ref().is_some_and(BTreeSet::is_empty) {
            // Answers to the removed resident's steps stay older than every new attempt.
            let (next, attempts) = (self.next.take(), self.attempts);
            *self = Self::default();
            if let Some(config) = next {
                self.attempts = attempts;
                return self.onboard(config, now);
            }
        }
        Vec::new()
    }
}
