//! A writer that keeps lines, a collector that keeps spans, and spans for tests.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use ars_events::{EndedSpan, EventBody, Redactor, SpanSink, SpanStatus};
use ars_types::RunId;
use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    trace::v1::{ResourceSpans, Span},
};
use prost::Message as _;
use serde_json::{Map, Value};
use tokio::{net::TcpListener, sync::watch, time::timeout};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    export::{Endpoint, Sending},
    spans::Spans,
    start::{Level, TelemetryOptions, subscriber},
};

/// Timeout for a test step, reached only by a hang.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// A run's id and its trace's id.
pub(super) const RUN: &str = "0b5e1a52-6f3c-4d89-9c1e-2f6f3a1d7e44";
pub(super) const TRACE: &str = "0b5e1a526f3c4d899c1e2f6f3a1d7e44";

/// A writer that keeps the lines.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Each line as JSON.
    pub(super) fn lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Written {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Options for only a server's log.
pub(super) fn options() -> TelemetryOptions {
    TelemetryOptions::lines(Level::Everything, None, "1.2.3")
}

/// Returns the lines that `act` writes; it gets the span sink.
pub(super) fn written(
    redactor: Redactor,
    options: &TelemetryOptions,
    act: impl FnOnce(&Spans<Written>),
) -> Written {
    let written = Written::default();
    let (subscriber, spans, _) = subscriber(Arc::new(redactor), options, written.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || act(&spans));
    written
}

/// Runs `act` with a collector; returns the lines and the sender.
pub(super) fn exported(
    redactor: Redactor,
    url: &str,
    act: impl FnOnce(&Spans<Written>),
) -> (Written, Sending) {
    let options = TelemetryOptions {
        collector: Some(Endpoint::parse(url).unwrap()),
        ..options()
    };
    let written = Written::default();
    let (subscriber, spans, sending) =
        subscriber(Arc::new(redactor), &options, written.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || act(&spans));
    (written, sending.unwrap())
}

/// A span in the run [`RUN`].
pub(super) struct TestSpan {
    pub(super) id: &'static str,
    pub(super) parent: Option<&'static str>,
    pub(super) name: String,
    pub(super) ms: i64,
    pub(super) error: Option<String>,
    pub(super) attrs: Map<String, Value>,
}

impl TestSpan {
    pub(super) fn new(id: &'static str, parent: Option<&'static str>, name: &str) -> Self {
        Self {
            id,
            parent,
            name: name.into(),
            ms: 5,
            error: None,
            attrs: Map::new(),
        }
    }

    /// Ends the span as the core does.
    pub(super) fn end(self, sink: &impl SpanSink) {
        let status = if self.error.is_some() {
            SpanStatus::Error
        } else {
            SpanStatus::Ok
        };
        let end = EventBody::SpanEnd {
            span_id: self.id.into(),
            parent_span_id: self.parent.map(str::to_owned),
            name: self.name,
            attrs: Some(self.attrs),
            started_at: 1_700_000_000_000,
            duration_ms: self.ms,
            status,
            error: self.error,
        };
        sink.ended(EndedSpan {
            run: RunId::parse(RUN).unwrap(),
            trace: TRACE.into(),
            end,
        });
    }
}

/// A collector on this machine.
pub(super) struct Collector {
    pub(super) url: String,
    requests: watch::Receiver<Vec<Bytes>>,
}

#[derive(Clone)]
struct Answering {
    status: StatusCode,
    requests: Arc<watch::Sender<Vec<Bytes>>>,
    hangs: bool,
}

impl Collector {
    /// Starts a collector that answers with this status.
    pub(super) async fn answering(status: u16) -> Self {
        Self::start(StatusCode::from_u16(status).unwrap(), false).await
    }

    /// Starts a collector that accepts requests and never answers.
    pub(super) async fn hanging() -> Self {
        Self::start(StatusCode::OK, true).await
    }

    async fn start(status: StatusCode, hangs: bool) -> Self {
        let (sender, requests) = watch::channel(Vec::new());
        let state = Answering {
            status,
            requests: Arc::new(sender),
            hangs,
        };
        let router = Router::new()
            .route("/v1/traces", post(take))
            .with_state(state);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, requests }
    }

    /// Waits for this many requests and returns their bodies.
    pub(super) async fn bodies(&mut self, count: usize) -> Vec<Bytes> {
        let enough = self.requests.wait_for(|requests| requests.len() >= count);
        timeout(TIMEOUT, enough)
            .await
            .expect("requests come")
            .unwrap()
            .clone()
    }

    /// Returns the received spans by resource.
    pub(super) fn resources(&self) -> Vec<ResourceSpans> {
        let decode = |body: &Bytes| ExportTraceServiceRequest::decode(body.clone()).unwrap();
        self.requests
            .borrow()
            .iter()
            .flat_map(|body| decode(body).resource_spans)
            .collect()
    }

    /// Returns the received spans.
    pub(super) fn spans(&self) -> Vec<Span> {
        let scopes = self
            .resources()
            .into_iter()
            .flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

async fn take(State(state): State<Answering>, body: Bytes) -> StatusCode {
    state.requests.send_modify(|requests| requests.push(body));
    if state.hangs {
        std::future::pending::<()>().await;
    }
    state.status
}
