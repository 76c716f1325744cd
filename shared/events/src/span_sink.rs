//! How an ended span travels from the code that ends it to the log and the collector.
//!
//! A contract of two crates that do not depend on each other: the bot's `trace` module sends, `ars-bot-telemetry`
//! receives, the binary connects them. Not here: the run's stream, which carries span events of its own.

use ars_types::RunId;

use crate::EventBody;

/// A span of a run that ended. Its texts are not redacted yet.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedSpan {
    /// The run.
    pub run: RunId,
    /// The id of the run's trace: 32 hexadecimal digits.
    pub trace: String,
    /// Always an [`EventBody::SpanEnd`]; other kinds are ignored.
    pub end: EventBody,
}

/// Receives the ended spans of a process.
pub trait SpanSink: Send + Sync {
    /// Receives one span. Must not block: runs call it between their steps.
    fn ended(&self, span: EndedSpan);
}
