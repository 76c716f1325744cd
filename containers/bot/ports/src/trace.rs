//! Ids and names for a run's spans outside the stream, and the sink for ended spans.
//!
//! Ids are derived, not generated, so that a resumed run stays a single trace. Not here: the
//! stream's span events, and what the sink does with a span (`ars-bot-telemetry`).

use std::sync::OnceLock;

use ars_events::{EndedSpan, EventBody, SpanSink};
use ars_types::RunId;
use sha2::{Digest as _, Sha256};

/// Maximum span name length in characters.
const NAME_MAX: usize = 64;
/// Hexadecimal digits in a trace id (W3C Trace Context).
const TRACE_ID_DIGITS: usize = 32;
/// Hexadecimal digits in a span id, which `ars-bot-telemetry` derives in the same way.
const SPAN_ID_DIGITS: usize = 16;
/// Hexadecimal digits that distinguish two names with the same beginning.
const SUFFIX_DIGITS: usize = 8;

/// Receives this process's ended spans.
static SINK: OnceLock<Box<dyn SpanSink>> = OnceLock::new();

/// Sends every span that ends from now on to `sink`. Only the first call in a process has an effect.
pub fn set_sink(sink: Box<dyn SpanSink>) {
    // A second sink is dropped.
    let _ = SINK.set(sink);
}

/// Returns a run's trace id, as in `run_meta` and the log: the run's own id when that is a UUID.
pub fn trace_id(run: &RunId) -> String {
    let digits: String = run.as_str().chars().filter(|c| *c != '-').collect();
    let is_id = digits.len() == TRACE_ID_DIGITS
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && digits.bytes().any(|byte| byte != b'0');
    if is_id {
        digits
    } else {
        hash(run.as_str(), TRACE_ID_DIGITS)
    }
}

/// Returns a span name made from any text: `[a-z0-9_.-]`, shortened with a hash as suffix.
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

/// Passes an ended span to the sink. Other events than a `SpanEnd` are ignored.
pub fn ended(run: &RunId, end: &EventBody) {
    if let (EventBody::SpanEnd { .. }, Some(sink)) = (end, SINK.get()) {
        sink.ended(EndedSpan {
            run: run.clone(),
            trace: trace_id(run),
            end: end.clone(),
        });
    }
}

tokio::task_local! {
    /// The `traceparent` for the current task's span.
    static TRACEPARENT: String;
}

/// Runs `work` as a part of this span: requests to our own hosts carry the `traceparent`.
pub async fn within<W: Future>(run: &RunId, span: &str, work: W) -> W::Output {
    let trace = trace_id(run);
    let parent = hash(&format!("{trace}/{span}"), SPAN_ID_DIGITS);
    TRACEPARENT
        .scope(format!("00-{trace}-{parent}-01"), work)
        .await
}

/// Returns the `traceparent` for a request to our own hosts; others must not learn about our
/// traces. `None` outside a run's work, and without a sink.
pub fn traceparent() -> Option<String> {
    SINK.get()?;
    TRACEPARENT.try_with(Clone::clone).ok()
}

fn hash(text: &str, digits: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut hex = hex::encode(digest);
    hex.truncate(digits);
    hex
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ars_events::SpanStatus;

    use super::*;

    /// Keeps the spans it receives.
    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<EndedSpan>>>);

    impl SpanSink for Recorder {
        fn ended(&self, span: EndedSpan) {
            self.0.lock().unwrap().push(span);
        }
    }

    /// A single test, because a process has a single sink.
    #[tokio::test]
    async fn sink_receives_span_ends_and_enables_traceparent() {
        let uuid = RunId::parse("0b5e1a52-6f3c-4d89-9c1e-2f6f3a1d7e44").unwrap();
        let run = RunId::parse("0123456789abcdef0123456789abcdef").unwrap();
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
        ended(&uuid, &end);
        assert_eq!(within(&run, "s1", async { traceparent() }).await, None);
        let recorder = Recorder::default();
        set_sink(Box::new(recorder.clone()));
        ended(&uuid, &end);
        ended(&uuid, &EventBody::answer("no span"));
        let expected = EndedSpan {
            run: uuid.clone(),
            trace: trace_id(&uuid),
            end,
        };
        let received = recorder.0.lock().unwrap().clone();
        // Other tests in this process may end spans too.
        assert_eq!(
            received
                .into_iter()
                .filter(|span| span.run == uuid)
                .collect::<Vec<_>>(),
            [expected]
        );
        assert_eq!(traceparent(), None);
        let traceparent = within(&run, "s1", async { traceparent() }).await.unwrap();
        // The collector's span with this name has this id (`ars-bot-telemetry`,
        // `export/convert.rs`).
        assert_eq!(
            traceparent,
            "00-0123456789abcdef0123456789abcdef-dc77fb9e4dd41485-01"
        );
    }

    #[test]
    fn trace_id_of_a_uuid_run_is_its_id() {
        let run = RunId::parse("0b5e1a52-6f3c-4d89-9c1e-2f6f3a1d7e44").unwrap();
        assert_eq!(trace_id(&run), "0b5e1a526f3c4d899c1e2f6f3a1d7e44");
    }

    #[test]
    fn other_run_ids_have_a_derived_trace_id() {
        for id in [
            "run-1",
            "00000000-0000-0000-0000-000000000000",
            "ZZZZ1a52-6f3c-4d89-9c1e-2f6f3a1d7e44",
        ] {
            let run = RunId::parse(id).unwrap();
            let trace = trace_id(&run);
            assert_eq!(trace, trace_id(&run));
            assert!(
                trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{trace}"
            );
            assert!(trace.bytes().any(|byte| byte != b'0'));
        }
    }

    #[test]
    fn span_name_replaces_forbidden_characters() {
        assert_eq!(span_name("tool.read_file"), "tool.read_file");
        assert_eq!(span_name("tool.Größe ändern\n"), "tool.gr__e__ndern_");
        assert_eq!(span_name(&"x".repeat(64)), "x".repeat(64));
    }

    #[test]
    fn shortened_names_stay_distinct() {
        let (a, b) = (
            format!("tool.{}a", "x".repeat(80)),
            format!("tool.{}b", "x".repeat(80)),
        );
        assert_eq!((span_name(&a).len(), span_name(&b).len()), (64, 64));
        assert_ne!(span_name(&a), span_name(&b));
        assert_eq!(span_name(&a), span_name(&a));
    }
}
