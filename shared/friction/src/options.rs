//! What a caller says about the stream it wants diagnosed.

use crate::intervals::Interval;

/// A tool is slow from here (document 2 section 2.6).
const SLOW_TOOL_MS: i64 = 30_000;
/// A model turn is slow from here (document 2 section 2.6).
const SLOW_MODEL_TURN_MS: i64 = 60_000;

/// How to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A tool is slow from here, in milliseconds.
    pub slow_tool_ms: i64,
    /// A model turn is slow from here, in milliseconds.
    pub slow_model_turn_ms: i64,
    /// The stream is complete: a call without a result is a failure, not work under way.
    pub finished: bool,
    /// The run's window: received (else started) to finished (else now). With it a finished run gets a shape.
    pub window: Option<Interval>,
    /// The record's schema, 0 for a record that names none. Unknown for a bare stream, which is then taken for a
    /// legacy one when it holds no span record.
    pub schema: Option<u32>,
    /// The stream's head is known to be missing. Seqs say so by themselves; streams without seqs cannot.
    pub head_trimmed: bool,
    /// Events that exist and were left out by a live replay's budget (bot supplement section 11.3, `replay_elided`).
    pub elided: Option<SeqRange>,
}

/// Seqs of a run, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeqRange {
    /// From.
    pub from: u64,
    /// To.
    pub to: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            slow_tool_ms: SLOW_TOOL_MS,
            slow_model_turn_ms: SLOW_MODEL_TURN_MS,
            finished: true,
            window: None,
            schema: None,
            head_trimmed: false,
            elided: None,
        }
    }
}
