//! Tests spans as a collector decodes them, and failing collectors.

use std::time::{Duration, Instant};

use ars_events::Redactor;
use metrics_exporter_prometheus::PrometheusBuilder;
use opentelemetry_proto::tonic::{
    common::v1::{KeyValue, any_value},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use serde_json::json;

use super::support::{Collector, RUN, TIMEOUT, TRACE, TestSpan, exported};

fn attribute(attributes: &[KeyValue], name: &str) -> Option<any_value::Value> {
    attributes
        .iter()
        .find(|attribute| attribute.key == name)?
        .value
        .clone()?
        .value
}

fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    match attribute(attributes, name)? {
        any_value::Value::StringValue(text) => Some(text),
        other => panic!("{name} is {other:?}"),
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans
        .iter()
        .find(|span| span.name == name)
        .unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
}

#[tokio::test]
async fn run_is_one_trace_of_linked_spans() {
    let collector = Collector::answering(200).await;
    let (_, sending) = exported(Redactor::default(), &collector.url, |spans| {
        let attrs = json!({ "model": "m", "usage": { "inputTokens": 7, "share": 0.5 }, "fresh": true, "all": [1, "a"], "none": null });
        let attrs = attrs.as_object().cloned().unwrap();
        TestSpan {
            ms: 2_500,
            attrs,
            ..TestSpan::new("s3", Some("s2"), "model.turn")
        }
        .end(spans);
        TestSpan {
            error: Some("failed".into()),
            ..TestSpan::new("s2", Some("s1"), "run.agent")
        }
        .end(spans);
        TestSpan::new("s1", None, "request").end(spans);
    });
    assert!(sending.finish(TIMEOUT).await);

    let resources = collector.resources();
    let resource = resources[0].resource.as_ref().unwrap();
    assert_eq!(
        text(&resource.attributes, "service.name").as_deref(),
        Some("ars")
    );
    assert_eq!(
        text(&resource.attributes, "service.version").as_deref(),
        Some("1.2.3")
    );
    let spans = collector.spans();
    assert_eq!(spans.len(), 3);
    assert!(
        spans
            .iter()
            .all(|span| hex::encode(&span.trace_id) == TRACE)
    );
    assert!(
        spans
            .iter()
            .all(|span| text(&span.attributes, "ars.run").as_deref() == Some(RUN))
    );

    let (root, agent, turn) = (
        named(&spans, "request"),
        named(&spans, "run.agent"),
        named(&spans, "model.turn"),
    );
    assert!(root.parent_span_id.is_empty() && !root.span_id.is_empty());
    // The same id as in a `traceparent` to our own hosts (`trace::within` in the ports).
    assert_eq!(hex::encode(&root.span_id), "9b92afd0c9811adc");
    assert_eq!(
        (&agent.parent_span_id, &turn.parent_span_id),
        (&root.span_id, &agent.span_id)
    );
    let kinds = [root, agent, turn].map(Span::kind);
    assert_eq!(
        kinds,
        [SpanKind::Server, SpanKind::Internal, SpanKind::Client]
    );
    assert_eq!(turn.start_time_unix_nano, 1_700_000_000_000_000_000);
    assert_eq!(
        turn.end_time_unix_nano - turn.start_time_unix_nano,
        2_500_000_000
    );
    let status = |span: &Span| {
        span.status
            .clone()
            .map(|status| (status.code(), status.message))
            .unwrap()
    };
    assert_eq!(status(agent), (StatusCode::Error, "failed".to_owned()));
    assert_eq!(status(turn), (StatusCode::Ok, String::new()));

    let of = |name| attribute(&turn.attributes, name);
    assert_eq!(text(&turn.attributes, "ars.span").as_deref(), Some("s3"));
    assert_eq!(of("usage.inputTokens"), Some(any_value::Value::IntValue(7)));
    assert_eq!(of("usage.share"), Some(any_value::Value::DoubleValue(0.5)));
    assert_eq!(of("fresh"), Some(any_value::Value::BoolValue(true)));
    assert_eq!(text(&turn.attributes, "all").as_deref(), Some(r#"[1,"a"]"#));
    assert_eq!(of("none"), None);
}

#[tokio::test]
async fn unlogged_spans_are_sent() {
    let collector = Collector::answering(200).await;
    let (written, sending) = exported(Redactor::default(), &collector.url, |spans| {
        TestSpan::new("s2", Some("s1"), "tool.bash").end(spans);
        tracing::info!("not a span");
    });
    assert!(sending.finish(TIMEOUT).await);
    assert_eq!(
        written.lines().len(),
        1,
        "of a span with a parent there is no line"
    );
    assert_eq!(collector.spans().len(), 1);
}

#[tokio::test]
async fn spans_are_batched() {
    let mut collector = Collector::answering(200).await;
    let (_, sending) = exported(Redactor::default(), &collector.url, |spans| {
        (0..1_000).for_each(|_| TestSpan::new("s1", None, "request").end(spans));
    });
    assert!(sending.finish(TIMEOUT).await);
    assert_eq!(collector.spans().len(), 1_000);
    // The processor sends a batch when 512 spans are queued, then the queue's rest, and at the end
    // later spans.
    assert!((2..=3).contains(&collector.bodies(1).await.len()));
}

/// Runs `happen` on this thread's runtime, and returns the counted metrics.
fn counted(happen: impl AsyncFnOnce()) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    metrics::with_local_recorder(&recorder, || {
        crate::names::describe();
        runtime.block_on(happen());
    });
    handle.render()
}

#[track_caller]
fn assert_counted(text: &str, line: &str) {
    assert!(
        text.lines().any(|has| has == line),
        "no {line:?} in\n{text}"
    );
}

#[test]
fn rejected_batch_is_counted() {
    let text = counted(async || {
        let mut collector = Collector::answering(400).await;
        let (_, sending) = exported(Redactor::default(), &collector.url, |spans| {
            TestSpan::new("s1", None, "request").end(spans);
            TestSpan::new("s2", None, "request").end(spans);
        });
        assert!(sending.finish(TIMEOUT).await);
        assert_eq!(collector.bodies(1).await.len(), 1);
    });
    assert_counted(
        &text,
        "ars_telemetry_spans_dropped_total{reason=\"export\"} 2",
    );
    assert_counted(
        &text,
        "ars_telemetry_spans_dropped_total{reason=\"queue\"} 0",
    );
    assert_counted(&text, "ars_telemetry_batches_dropped_total 1");
}

#[test]
fn hanging_collector_drops_spans_beyond_the_limit() {
    let text = counted(async || {
        let mut collector = Collector::hanging().await;
        let (_, sending) = exported(Redactor::default(), &collector.url, |spans| {
            (0..5_000).for_each(|_| TestSpan::new("s2", Some("s1"), "tool.bash").end(spans));
        });
        collector.bodies(1).await;
        let asked = Instant::now();
        assert!(
            !sending.finish(Duration::from_millis(50)).await,
            "something was left"
        );
        assert!(asked.elapsed() < TIMEOUT, "the end is bounded");
    });
    // No request ended while the spans did: all but 2,048 pending spans were dropped.
    assert_counted(
        &text,
        "ars_telemetry_spans_dropped_total{reason=\"queue\"} 2952",
    );
}

#[test]
fn unreachable_collector_is_counted() {
    let text = counted(async || {
        let (_, sending) = exported(Redactor::default(), "http://127.0.0.1:1", |spans| {
            TestSpan::new("s1", None, "request").end(spans);
        });
        assert!(sending.finish(TIMEOUT).await, "it gives up by itself");
    });
    assert_counted(
        &text,
        "ars_telemetry_spans_dropped_total{reason=\"export\"} 1",
    );
}
