//! Telemetry is global in a process, so this file has a single test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{sync::Arc, time::Duration};

use ars_bot_telemetry::{Settings, TelemetryOptions, Tracing, start};
use ars_events::{EndedSpan, EventBody, Redactor, SpanStatus};
use ars_types::RunId;
use axum::{Router, body::Bytes, routing::post};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use tokio::{net::TcpListener, sync::mpsc};

/// Timeout for a step, reached only by a hang.
const TIMEOUT: Duration = Duration::from_secs(30);

async fn collector() -> (String, mpsc::UnboundedReceiver<Bytes>) {
    let (sender, bodies) = mpsc::unbounded_channel();
    let take = move |body: Bytes| {
        let sent = sender.send(body);
        async move { sent.unwrap() }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/traces", post(take));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, bodies)
}

#[tokio::test]
async fn telemetry_covers_every_thread_of_the_process() {
    let (url, mut bodies) = collector().await;
    let settings = Settings {
        otlp_endpoint: Some(url),
        prometheus: true,
    };
    let options =
        TelemetryOptions::configured(&settings, Tracing::default(), |_| None, "1").unwrap();
    let mut telemetry = start(Arc::new(Redactor::default()), &options).unwrap();
    let metrics = telemetry.metrics().unwrap().clone();

    let sink = telemetry.take_span_sink().unwrap();
    let elsewhere = std::thread::spawn(move || {
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
        let trace = "0b5e1a526f3c4d899c1e2f6f3a1d7e44".to_owned();
        sink.ended(EndedSpan {
            run: RunId::parse("r").unwrap(),
            trace,
            end,
        });
        metrics::counter!("ars_things_total").increment(2);
    });
    elsewhere.join().unwrap();

    assert!(telemetry.finish(TIMEOUT).await);
    let request = ExportTraceServiceRequest::decode(bodies.recv().await.unwrap()).unwrap();
    assert_eq!(
        request.resource_spans[0].scope_spans[0].spans[0].name,
        "request"
    );
    let text = metrics.render();
    for line in [
        "ars_things_total 2",
        "ars_telemetry_spans_dropped_total{reason=\"queue\"} 0",
    ] {
        assert!(
            text.lines().any(|has| has == line),
            "no {line:?} in\n{text}"
        );
    }
}
