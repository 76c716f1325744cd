//! What a run may spend (bot supplement section 14): the wall clock is the budget, turns are the backstop.

use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};

/// How long the closing, tool-less call may take ("Final call bound").
pub const CLOSING_CALL_MS: i64 = 3 * 60_000;
/// The wrap-up warning comes when this much time is left, or a quarter of the budget if that is less.
const WRAP_UP_MS: i64 = 3 * 60_000;
/// Iterations allowed per turn of the budget: status-only turns do not count as turns but do as iterations.
const ITERATIONS_PER_TURN: u32 = 2;

/// An agent's budget.
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

    /// When the run must end.
    pub(crate) const fn deadline(self, started: UnixMillis) -> UnixMillis {
        started.saturating_add(self.time_ms)
    }

    /// How much time is left when the model is told to wrap up.
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
