//! How an ended span travels from the code that ends it to the log and the collector.
//!
//! A contract between two crates that do not depend on each other: the bot's `trace` module sends,
//! `ars-bot-telemetry` receives, the binary connects them. Not here: the run's stream, which
//! carries separate span events.

use ars_types::RunId;

use crate::EventBody;

/// A span that ended, from a run. The texts are not redacted yet.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedSpan {
    /// The run that the span belongs to.
    pub run: RunId,
    /// The run's trace id: 32 hexadecimal digits.
    pub trace: String,
    /// Always an [`EventBody::SpanEnd`]; other kinds are ignored.
    pub end: EventBody,
}

/// Receives the spans that end in a process.
pub trait SpanSink: Send + Sync {
    /// Receives a span. Must not block: runs call it between their steps.
    fn ended(&self, span: EndedSpan);
}
