//! A run's ended spans: redacted once, then written as a log line, sent to the collector, or both.

use std::sync::Arc;

use ars_events::{EndedSpan, EventBody, Redactor, SpanSink, SpanStatus};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::{export::Export, lines::Lines};

/// The `tracing` target of the log lines of ended spans.
pub(crate) const SPAN_TARGET: &str = "ars::span";
/// A span is slow from this duration on.
const SLOW_MS: i64 = 1_000;

/// Which ended spans become a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanLog {
    /// Those without a parent: one a request.
    #[default]
    Roots,
    /// Those that took a second or more.
    Slow,
}

impl SpanLog {
    fn selects(self, end: &EventBody) -> bool {
        let EventBody::SpanEnd { parent_span_id, duration_ms, .. } = end else { return false };
        match self {
            Self::Roots => parent_span_id.is_none(),
            Self::Slow => *duration_ms >= SLOW_MS,
        }
    }
}

/// Receives the ended spans of the process.
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
        Self { redactor, log, lines, export }
    }

    /// Returns whether any span can become a line or reach a collector.
    pub(crate) fn is_active(&self) -> bool {
        self.export.is_some() || logs_spans()
    }
}

/// Returns whether the log's filter lets the lines of spans pass.
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
        let Some(span) = CleanSpan::redact(span, &self.redactor) else { return };
        if is_logged {
            self.lines.write_line(tracing::Level::INFO, SPAN_TARGET, span.fields(), Vec::new());
        }
        if let Some(export) = &self.export {
            export.enqueue(span);
        }
    }
}

/// An ended span without secrets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CleanSpan {
    /// The run's id.
    pub(crate) run: String,
    /// 32 hexadecimal digits.
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) name: String,
    pub(crate) started_at: i64,
    pub(crate) ms: i64,
    pub(crate) status: SpanStatus,
    pub(crate) error: Option<String>,
    pub(crate) attrs: Map<String, Value>,
}

impl CleanSpan {
    fn redact(span: EndedSpan, redactor: &Redactor) -> Option<Self> {
        let EndedSpan { run, trace, end } = span;
        let EventBody::SpanEnd {
            span_id,
            parent_span_id,
            name,
            attrs,
            started_at,
            duration_ms,
            status,
            error,
        } = redactor.redact_event(end)
        else {
            return None;
        };
        Some(Self {
            run: redactor.redact(run.as_str()).into_owned(),
            trace,
            id: span_id,
            parent: parent_span_id,
            name,
            started_at,
            ms: duration_ms,
            status,
            error,
            attrs: attrs.unwrap_or_default(),
        })
    }

    /// Returns the fields of the span's log line.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("span", json!(self.name));
        put("run", json!(self.run));
        put("traceId", json!(self.trace));
        put("spanId", json!(self.id));
        if let Some(parent) = &self.parent {
            put("parentSpanId", json!(parent));
        }
        put("startedAt", json!(self.started_at));
        put("ms", json!(self.ms));
        put("status", json!(self.status));
        if let Some(error) = &self.error {
            put("error", json!(error));
        }
        if !self.attrs.is_empty() {
            put("attrs", json!(self.attrs));
        }
        fields
    }
}
