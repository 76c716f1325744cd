//! Names and ids of a run's spans outside its stream, and the log line of an ended span.
//!
//! Ids are derived, not random, so that a resumed run keeps its trace. Not here: the span events of the stream
//! (`run/spans.rs`) and the export of spans (`ars-bot-telemetry`).

use ars_events::{EventBody, SPAN_TARGET};
use ars_types::RunId;
use sha2::{Digest as _, Sha256};

/// Maximum characters of a span's name (docs/reference/events.md#spans).
const NAME_MAX: usize = 64;
/// Hexadecimal digits of a trace's id (W3C Trace Context).
const TRACE_ID_DIGITS: usize = 32;
/// Hexadecimal digits of a span's id, which the collector derives in the same way (`ars-bot-telemetry`).
const SPAN_ID_DIGITS: usize = 16;
/// Hexadecimal digits of the hash that distinguishes truncated names.
const SUFFIX_DIGITS: usize = 8;

/// Returns the id of a run's trace, as `run_meta` and the log carry it: the run's own id when that is a UUID.
pub fn trace_id(run: &RunId) -> String {
    let digits: String = run.as_str().chars().filter(|c| *c != '-').collect();
    let is_id = digits.len() == TRACE_ID_DIGITS
        && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && digits.bytes().any(|byte| byte != b'0');
    if is_id { digits } else { hash(run.as_str(), TRACE_ID_DIGITS) }
}

/// Converts any text to a span's name: `[a-z0-9_.-]`, with a hash in place of a truncated end.
pub fn span_name(text: &str) -> String {
    let permitted = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '.' | '-') => c,
        _ => '_',
    };
    let name: String = text.chars().map(permitted).collect();
    if name.len() <= NAME_MAX {
        return name;
    }
    let kept = &name[..NAME_MAX - SUFFIX_DIGITS - 1];
    format!("{kept}-{}", hash(text, SUFFIX_DIGITS))
}

/// Logs the end of a span for the collector. Ignores every event but `SpanEnd`.
pub fn ended(run: &RunId, end: &EventBody) {
    // Most test processes have no subscriber, so the JSON would be built for nothing.
    if !matches!(end, EventBody::SpanEnd { .. })
        || !tracing::enabled!(target: SPAN_TARGET, tracing::Level::INFO)
    {
        return;
    }
    if let Ok(span) = serde_json::to_string(end) {
        tracing::info!(target: SPAN_TARGET, run = %run, trace = trace_id(run), span, "span ended");
    }
}

tokio::task_local! {
    /// The `traceparent` of the current task.
    static TRACEPARENT: String;
}

/// Runs `work` as part of this span: requests to the service's own hosts carry its `traceparent`.
pub async fn within<W: Future>(run: &RunId, span: &str, work: W) -> W::Output {
    let trace = trace_id(run);
    let parent = hash(&format!("{trace}/{span}"), SPAN_ID_DIGITS);
    TRACEPARENT.scope(format!("00-{trace}-{parent}-01"), work).await
}

/// Returns the `traceparent` for a request to one of the service's own hosts. No other host may learn the trace.
///
/// `None` outside a run's work, and without a subscriber of its spans.
pub fn traceparent() -> Option<String> {
    let is_on = tracing::enabled!(target: SPAN_TARGET, tracing::Level::INFO);
    if is_on { TRACEPARENT.try_with(Clone::clone).ok() } else { None }
}

fn hash(text: &str, digits: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(digits);
    hex
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        fmt,
        sync::{Arc, Mutex},
    };

    use ars_events::SpanStatus;
    use tracing::field::{Field, Visit};
    use tracing_subscriber::{Layer, layer::SubscriberExt as _};

    use super::*;

    /// Records the fields of events with the target of spans.
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<BTreeMap<&'static str, String>>>>);

    impl<S: tracing::Subscriber> Layer<S> for Told {
        fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            assert_eq!(event.metadata().target(), SPAN_TARGET);
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }
    }

    #[derive(Default)]
    struct Fields(BTreeMap<&'static str, String>);

    impl Visit for Fields {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            self.0.insert(field.name(), format!("{value:?}"));
        }

        fn record_str(&mut self, field: &Field, value: &str) {
            self.0.insert(field.name(), value.to_owned());
        }
    }

    #[test]
    fn only_ended_spans_are_logged() {
        let run = RunId::parse("0b5e1a52-6f3c-4d89-9c1e-2f6f3a1d7e44").unwrap();
        let end = EventBody::SpanEnd {
            span_id: "s1".into(),
            parent_span_id: None,
            name: "request".into(),
            attrs: None,
            started_at: 1,
            duration_ms: 2,
            status: SpanStatus::Ok,
            error: None,
        };
        let told = Told::default();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(told.clone()), || {
            ended(&run, &end);
            ended(&run, &EventBody::Answer { text: "no span".into() });
        });
        let told = told.0.lock().unwrap();
        let [fields] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((fields["run"].as_str(), &fields["trace"]), (run.as_str(), &trace_id(&run)));
        let read: EventBody = serde_json::from_str(&fields["span"]).unwrap();
        assert_eq!(read, end);
    }

    #[test]
    fn a_trace_is_called_like_its_run() {
        let run = RunId::parse("0b5e1a52-6f3c-4d89-9c1e-2f6f3a1d7e44").unwrap();
        assert_eq!(trace_id(&run), "0b5e1a526f3c4d899c1e2f6f3a1d7e44");
    }

    #[test]
    fn run_without_uuid_has_a_trace() {
        for id in ["run-1", "00000000-0000-0000-0000-000000000000", "ZZZZ1a52-6f3c-4d89-9c1e-2f6f3a1d7e44"] {
            let run = RunId::parse(id).unwrap();
            let trace = trace_id(&run);
            assert_eq!(trace, trace_id(&run));
            assert!(trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()), "{trace}");
            assert!(trace.bytes().any(|byte| byte != b'0'));
        }
    }

    #[test]
    fn span_name_is_sanitized() {
        assert_eq!(span_name("tool.read_file"), "tool.read_file");
        assert_eq!(span_name("tool.Größe ändern\n"), "tool.gr__e__ndern_");
        assert_eq!(span_name(&"x".repeat(64)), "x".repeat(64));
    }

    #[test]
    fn names_that_were_cut_still_differ() {
        let (a, b) = (format!("tool.{}a", "x".repeat(80)), format!("tool.{}b", "x".repeat(80)));
        assert_eq!((span_name(&a).len(), span_name(&b).len()), (64, 64));
        assert_ne!(span_name(&a), span_name(&b));
        assert_eq!(span_name(&a), span_name(&a));
    }

    #[tokio::test]
    async fn traceparent_exists_within_a_subscribed_run() {
        let run = RunId::parse("0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(within(&run, "s1", async { traceparent() }).await, None);
        let _listening =
            tracing::subscriber::set_default(tracing_subscriber::registry().with(Told::default()));
        assert_eq!(traceparent(), None);
        let named = within(&run, "s1", async { traceparent() }).await.unwrap();
        // The collector's span of this name has this id (`ars-bot-telemetry`, `export/convert.rs`).
        assert_eq!(named, "00-0123456789abcdef0123456789abcdef-dc77fb9e4dd41485-01");
    }
}
