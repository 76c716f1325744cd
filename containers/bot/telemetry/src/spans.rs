//! A run's ended spans: redacted once, then written as a log line, sent to the collector, or both.

use std::sync::Arc;

use ars_events::{EndedSpan, EventBody, Redactor, SpanSink};
use serde::Deserialize;
use tracing_subscriber::fmt::MakeWriter;

use crate::{clean_span::CleanSpan, export::Export, lines::Lines};

/// The `tracing` target for ended spans' log lines.
pub(crate) const SPAN_TARGET: &str = "ars::span";
/// A span is slow from this duration on.
const SLOW_MS: i64 = 1_000;

/// Which ended spans become a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanLog {
    /// Those without a parent: one per request.
    #[default]
    Roots,
    /// Those that took a second or more.
    Slow,
}

impl SpanLog {
    fn selects(self, end: &EventBody) -> bool {
        let EventBody::SpanEnd {
            parent_span_id,
            duration_ms,
            ..
        } = end
        else {
            return false;
        };
        match self {
            Self::Roots => parent_span_id.is_none(),
            Self::Slow => *duration_ms >= SLOW_MS,
        }
    }
}

/// Receives the process's ended spans.
pub(crate) struct Spans<W> {
    redactor: Arc<Redactor>,
    log: SpanLog,
    lines: Lines<W>,
    export: Option<Export>,
}

impl<W: for<'w> MakeWriter<'w>> Spans<W> {
    pub(crate) const fn new(
        redactor: Arc<Redactor>,
        log: SpanLog,
        lines: Lines<W>,
        export: Option<Export>,
    ) -> Self {
        Self {
            redactor,
            log,
            lines,
            export,
        }
    }

    /// Returns whether any span can become a line or reach a collector.
    pub(crate) fn is_active(&self) -> bool {
        self.export.is_some() || logs_spans()
    }
}

/// Returns whether the log's filter lets span lines pass.
fn logs_spans() -> bool {
    tracing::enabled!(target: SPAN_TARGET, tracing::Level::INFO)
}

impl<W: for<'w> MakeWriter<'w> + Send + Sync> SpanSink for Spans<W> {
    fn ended(&self, span: EndedSpan) {
        let is_logged = self.log.selects(&span.end) && logs_spans();
        // Most spans are not logged, and redacting costs time.
        if !is_logged && self.export.is_none() {
            return;
        }
        let Some(span) = CleanSpan::redact(span, &self.redactor) else {
            return;
        };
        if is_logged {
            self.lines
                .write_line(tracing::Level::INFO, SPAN_TARGET, span.fields(), Vec::new());
        }
        if let Some(export) = &self.export {
            export.enqueue(span);
        }
    }
}
