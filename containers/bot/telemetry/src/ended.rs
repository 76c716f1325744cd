//! A span of a run that has ended, as `ars_bot_ports::trace` told of it (`ars_events::SPAN_TARGET`).

use std::fmt;

use ars_events::{EventBody, Redactor, SPAN_TARGET, SpanStatus};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tracing::{
    Event, Metadata,
    field::{Field, Visit},
};

/// A span is slow from here (bot supplement section 24).
const SLOW_MS: i64 = 1_000;

/// Hexadecimal digits of a trace's id.
const TRACE_ID_DIGITS: usize = 32;

/// Which ended spans become a log line (bot supplement section 24, `tracing.log`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanLog {
    /// Those without a parent: one a request.
    #[default]
    Roots,
    /// Those that took a second or more.
    Slow,
}

/// One ended span, cleaned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
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

/// Whether an event is about an ended span.
pub(crate) fn is_span(metadata: &Metadata<'_>) -> bool {
    metadata.target() == SPAN_TARGET
}

/// What an event told of an ended span, as it was told: nothing to show before it is cleaned.
pub(crate) struct Told {
    run: String,
    trace: String,
    end: EventBody,
}

impl Told {
    /// The span an event tells of; none when it tells of none.
    pub(crate) fn read(event: &Event<'_>) -> Option<Self> {
        if !is_span(event.metadata()) {
            return None;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields { run, trace, span } = fields;
        let is_trace = trace.len() == TRACE_ID_DIGITS && trace.bytes().all(|byte| byte.is_ascii_hexdigit());
        let end = serde_json::from_str(&span).ok()?;
        is_trace.then_some(Self { run, trace, end })
    }

    /// Whether it becomes a log line. Most do not, and are not cleaned for it.
    pub(crate) fn is_logged(&self, which: SpanLog) -> bool {
        let EventBody::SpanEnd { parent_span_id, duration_ms, .. } = &self.end else { return false };
        match which {
            SpanLog::Roots => parent_span_id.is_none(),
            SpanLog::Slow => *duration_ms >= SLOW_MS,
        }
    }

    /// The span without secrets.
    pub(crate) fn clean(self, redactor: &Redactor) -> Option<Ended> {
        let EventBody::SpanEnd {
            span_id,
            parent_span_id,
            name,
            attrs,
            started_at,
            duration_ms,
            status,
            error,
        } = redactor.redact_event(self.end)
        else {
            return None;
        };
        Some(Ended {
            run: redactor.redact(&self.run).into_owned(),
            trace: self.trace,
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
}

impl Ended {
    /// The fields of its log line.
    pub(crate) fn fields(self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("span", json!(self.name));
        put("run", json!(self.run));
        put("traceId", json!(self.trace));
        put("spanId", json!(self.id));
        if let Some(parent) = self.parent {
            put("parentSpanId", json!(parent));
        }
        put("startedAt", json!(self.started_at));
        put("ms", json!(self.ms));
        put("status", json!(self.status));
        if let Some(error) = self.error {
            put("error", json!(error));
        }
        if !self.attrs.is_empty() {
            put("attrs", Value::Object(self.attrs));
        }
        fields
    }
}

/// The fields as they were told.
#[derive(Default)]
struct Fields {
    run: String,
    trace: String,
    span: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "run" => value.clone_into(&mut self.run),
            "trace" => value.clone_into(&mut self.trace),
            "span" => value.clone_into(&mut self.span),
            _ => {}
        }
    }
}
