//! An ended span without secrets, for the log and the collector.

use ars_events::{EndedSpan, EventBody, Redactor, SpanStatus};
use serde_json::{Map, Value, json};

/// An ended span without secrets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CleanSpan {
    /// Id of the run.
    pub(crate) run: String,
    /// Trace id, 32 hexadecimal digits.
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
    /// Redacts a span; `None` for an event that ends no span.
    pub(crate) fn redact(span: EndedSpan, redactor: &Redactor) -> Option<Self> {
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

    /// Returns the fields for the span's log line.
    pub(crate) fn fields(&self) -> Map<String, Value> {
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
