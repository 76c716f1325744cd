//! Options for an analysis: thresholds, and facts that the events do not show.

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
    /// The run has ended: a call without a result is a failure, not work in progress.
    pub finished: bool,
    /// The run's time: from the request's receipt (or the start) to the end (or now). A finished run
    /// has a shape only with it.
    pub window: Option<Interval>,
    /// The record's schema, 0 if the record names none. Below 2 the events are read without spans;
    /// `None`, for a stream without a record, reads them so if there are none.
    pub schema: Option<u32>,
    /// The first events are missing. Only a stream without seqs needs this option.
    pub head_trimmed: bool,
    /// Events that a live replay left out. They exist, so they do not count as lost.
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
