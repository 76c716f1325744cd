//! Converts a run's span to OpenTelemetry's type.

use std::time::{Duration, SystemTime};

use ars_events::SpanStatus;
use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::clean_span::CleanSpan;

/// The attribute with the run's id.
const RUN: &str = "ars.run";
/// The attribute with the span's id in the run's stream.
const SPAN: &str = "ars.span";

/// Converts a span. The id is derived from the run id, because a stream's ids are unique only
/// within the run.
pub(super) fn span_data(span: CleanSpan, scope: &InstrumentationScope) -> SpanData {
    let trace_id = TraceId::from_hex(&span.trace).unwrap_or(TraceId::INVALID);
    let parent = span
        .parent
        .as_deref()
        .map_or(SpanId::INVALID, |parent| span_id(&span.trace, parent));
    let own = span_id(&span.trace, &span.id);
    let mut attributes = vec![KeyValue::new(RUN, span.run), KeyValue::new(SPAN, span.id)];
    flatten("", span.attrs, &mut attributes);
    SpanData {
        span_context: SpanContext::new(trace_id, own, TraceFlags::SAMPLED, false, TraceState::NONE),
        parent_span_id: parent,
        parent_span_is_remote: false,
        span_kind: kind(&span.name, span.parent.is_some()),
        name: span.name.into(),
        start_time: time(span.started_at),
        end_time: time(span.started_at.saturating_add(span.ms.max(0))),
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: match span.status {
            SpanStatus::Ok => Status::Ok,
            SpanStatus::Error => Status::error(span.error.unwrap_or_default()),
        },
        instrumentation_scope: scope.clone(),
    }
}

fn span_id(trace: &str, id: &str) -> SpanId {
    let digest = Sha256::digest(format!("{trace}/{id}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    SpanId::from_bytes(bytes)
}

/// Returns the kind: a request to the service, a request by the service, or internal work.
fn kind(name: &str, has_parent: bool) -> SpanKind {
    if !has_parent {
        SpanKind::Server
    } else if name == "model.turn" || name.starts_with("mcp.") {
        SpanKind::Client
    } else {
        SpanKind::Internal
    }
}

/// Converts a time; a time before the epoch or beyond the clock's range becomes the epoch.
fn time(ms: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    SystemTime::UNIX_EPOCH
        .checked_add(since)
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Flattens attributes: a value in an object is named by the path.
fn flatten(path: &str, attrs: Map<String, Value>, flat: &mut Vec<KeyValue>) {
    for (name, value) in attrs {
        let name = if path.is_empty() {
            name
        } else {
            format!("{path}.{name}")
        };
        match value {
            Value::Null => {}
            Value::Bool(value) => flat.push(KeyValue::new(name, value)),
            Value::String(text) => flat.push(KeyValue::new(name, text)),
            Value::Number(number) => flat.push(match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => KeyValue::new(name, whole),
                (None, Some(real)) => KeyValue::new(name, real),
                (None, None) => KeyValue::new(name, number.to_string()),
            }),
            Value::Array(items) => flat.push(KeyValue::new(name, Value::Array(items).to_string())),
            Value::Object(inner) => flatten(&name, inner, flat),
        }
    }
}
