//! A run's budget: wall-clock time is the limit, and turns are the backstop.

use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};

/// Time limit for the closing call, which has no tools.
pub const CLOSING_CALL_MS: i64 = 3 * 60_000;
/// Time left at the wrap-up warning, or a quarter of the budget if that is less.
const WRAP_UP_MS: i64 = 3 * 60_000;
/// Iterations per budgeted turn. Turns that only update the status count as iterations only.
const ITERATIONS_PER_TURN: u32 = 2;

/// Limits how long an agent may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Model turns that count.
    pub turns: u32,
    /// Wall clock, in milliseconds.
    pub time_ms: i64,
}

impl Budget {
    /// The hard cap on model calls.
    pub(crate) const fn iterations(self) -> u32 {
        self.turns.saturating_mul(ITERATIONS_PER_TURN)
    }

    /// Returns the time at which the run's budget ends.
    pub(crate) const fn deadline(self, started: UnixMillis) -> UnixMillis {
        started.saturating_add(self.time_ms)
    }

    /// Returns the time left at which the model is asked to wrap up.
    pub(crate) fn wrap_up_ms(self) -> i64 {
        WRAP_UP_MS.min(self.time_ms / 4)
    }

    /// The time budget in words, for notes and answers.
    pub(crate) fn minutes(self) -> String {
        match self.time_ms / 60_000 {
            1 => "1 minute".into(),
            minutes => format!("{minutes} minutes"),
        }
    }
}
