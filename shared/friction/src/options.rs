//! Options for an analysis.

use crate::intervals::Interval;

/// Default threshold for a slow tool call.
const SLOW_TOOL_MS: i64 = 30_000;
/// Default threshold for a slow model turn.
const SLOW_MODEL_TURN_MS: i64 = 60_000;

/// Options for an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// Threshold for a slow tool call in milliseconds.
    pub slow_tool_ms: i64,
    /// Threshold for a slow model turn in milliseconds.
    pub slow_model_turn_ms: i64,
    /// The stream is complete: a call without a result is a failure, not work in progress.
    pub finished: bool,
    /// The run's window: from receipt, else start, to the end, else now. With it an ended run gets
    /// a shape.
    pub window: Option<Interval>,
    /// The record's schema, 0 if the record has none. `None` for a bare stream, which is legacy if
    /// it has no span records.
    pub schema: Option<u32>,
    /// The stream's head is missing. Streams with seqs show this without the option.
    pub head_trimmed: bool,
    /// Events that exist but were elided from a live replay.
    pub elided: Option<SeqRange>,
}

/// A seq range, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeqRange {
    /// First seq in the range.
    pub from: u64,
    /// Last seq in the range.
    pub to: u64,
}

impl Default for AnalysisOptions {
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
