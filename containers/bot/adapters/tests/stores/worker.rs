//! Tests only the HTTP transport: statuses, network failures, and malformed responses.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ars_auth::Secret;
use ars_bot_adapters::stores::{Worker, WorkerStores};
use ars_bot_ports::{
    Ledger as _, Memory, RunStore as _, Schedules as _, StoreError, StoreErrorKind, Transcripts,
    trace,
};
use ars_events::{EndedSpan, SpanSink};
use ars_types::StoreKey;
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{
    clock::{ManualClock, NOW},
    state_worker::StateWorker,
    suite::{Fixture, record, run},
};

/// A Worker with separate stores.
pub async fn fixture() -> Fixture {
    let server = StateWorker::start("the token", ManualClock::at(NOW)).await;
    let stores = Worker::at(&server.url, &secret("the token")).unwrap();
    Fixture::over(Arc::new(stores), NOW, server)
}

fn secret(text: &str) -> Secret {
    Secret::parse(Some(text.to_owned())).unwrap()
}

/// Reads a request, which ends with the body's closing brace.
async fn request(socket: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        assert_ne!(socket.read_buf(&mut request).await.unwrap(), 0);
    }
    String::from_utf8(request).unwrap()
}

/// Sends these bytes to a single request and closes; the task returns the request.
async fn answering(response: String) -> (WorkerStores, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let request = request(&mut socket).await;
        socket.write_all(response.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        request
    });
    (
        WorkerStores::connect(&url, &secret("the token"), None).unwrap(),
        task,
    )
}

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn plain_connection_is_reused_only_briefly() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                loop {
                    request(&mut socket).await;
                    socket
                        .write_all(http("200 OK", r#"{"record":null}"#).as_bytes())
                        .await
                        .unwrap();
                }
            });
        }
    });
    let store = WorkerStores::connect(&url, &secret("the token"), None).unwrap();
    let mut served_by = Vec::new();
    for idle in [0, 1_000, 2_001] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(idle)).await;
        tokio::time::resume();
        store.get(&run("r1")).await.unwrap();
        served_by.push(connections.load(Ordering::Relaxed));
    }
    assert_eq!(served_by, [1, 1, 2]);
}

#[tokio::test]
async fn request_has_length_type_and_bearer() {
    let (store, request) = answering(http("200 OK", r#"{"record":null}"#)).await;
    assert_eq!(store.get(&run("r1")).await.unwrap(), None);
    let request = request.await.unwrap().to_lowercase();
    assert!(
        request.starts_with("post /runs/get http/1.1\r\n"),
        "one slash between the base and the route"
    );
    let body = r#"{"storekey":"runs:default","id":"r1"}"#;
    assert!(request.ends_with(&format!("\r\n\r\n{body}")), "{request}");
    for header in [
        "authorization: bearer the token",
        "content-type: application/json",
        &format!("content-length: {}", body.len()),
    ] {
        assert!(
            request.contains(&format!("\r\n{header}\r\n")),
            "{header} in {request}"
        );
    }
}

/// A sink: requests carry a `traceparent` only when the process has a sink.
struct Discard;

impl SpanSink for Discard {
    fn ended(&self, _: EndedSpan) {}
}

#[tokio::test]
async fn request_of_a_run_carries_its_traceparent() {
    trace::set_sink(Box::new(Discard));
    let empty = || http("200 OK", r#"{"record":null}"#);
    let (store, request) = answering(empty()).await;
    trace::within(&run("r1"), "s1", store.get(&run("r1")))
        .await
        .unwrap();
    let expected = format!("\r\ntraceparent: 00-{}-", trace::trace_id(&run("r1")));
    assert!(request.await.unwrap().to_lowercase().contains(&expected));
    // A request outside a run has no span.
    let (store, request) = answering(empty()).await;
    store.get(&run("r1")).await.unwrap();
    assert!(
        !request
            .await
            .unwrap()
            .to_lowercase()
            .contains("traceparent")
    );
}

#[tokio::test]
async fn requests_are_timed_by_route_and_outcome() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    // The recorder is local to this thread, and the test has no other.
    let _recording = metrics::set_default_local_recorder(&recorder);
    let answers = [
        http("200 OK", r#"{"record":null}"#),
        http("409 Conflict", r#"{"ok":false}"#),
        http("500 Internal Server Error", "{}"),
        String::new(),
    ];
    for answer in answers {
        let (store, request) = answering(answer).await;
        let _ = store.get(&run("r1")).await;
        request.await.unwrap();
    }
    let text = handle.render();
    for (outcome, count) in [("ok", 2), ("failed", 1), ("infra", 1)] {
        let line = format!(
            "ars_store_request_duration_seconds_count{{operation=\"/runs/get\",outcome=\"{outcome}\"}} {count}"
        );
        assert!(text.contains(&line), "{line} in {text}");
    }
}

#[tokio::test]
async fn status_decides_the_kind_of_answer() {
    use StoreErrorKind::{Permanent, Refused, RouteMissing, Transient};
    for (status, kind) in [
        ("404 Not Found", RouteMissing),
        ("503 Busy", Transient),
        ("413 Big", Refused),
        ("204 Nothing", Permanent),
    ] {
        let (store, _request) = answering(http(status, "")).await;
        let error = store.get(&run("r1")).await.unwrap_err();
        assert_eq!(
            (error.kind, error.message),
            (kind, format!("{}: no reason given", &status[..3]))
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    for status in ["301", "302", "303", "307", "308"] {
        let location = format!(
            "location: http://{}/runs/get",
            elsewhere.local_addr().unwrap()
        );
        let (store, _request) =
            answering(http(&format!("{status} Elsewhere\r\n{location}"), "")).await;
        assert_eq!(
            store.get(&run("r1")).await.unwrap_err().kind,
            StoreErrorKind::Permanent,
            "{status}"
        );
    }
    let visit = elsewhere.accept().unwrap_err();
    assert_eq!(visit.kind(), std::io::ErrorKind::WouldBlock, "nobody came");
}

#[tokio::test]
async fn oversized_answer_is_not_read() {
    let declared = "HTTP/1.1 200 OK\r\ncontent-length: 67108865\r\n\r\n";
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(0x10_0000));
    let endless = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}",
        chunk.repeat(65)
    );
    for response in [declared.to_owned(), endless] {
        let (store, _request) = answering(response).await;
        let error = store.get(&run("r1")).await.unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (StoreErrorKind::Permanent, "the answer is too large")
        );
    }
}

#[tokio::test]
async fn errors_contain_no_bearer_and_no_url() {
    let echo = r#"{"error":"the token is not Bearer the token"}"#;
    let mut errors = Vec::new();
    for response in [
        http("401 No", echo),
        http("503 No", echo),
        http("404 No", echo),
        http("200 OK", echo),
        String::new(),
    ] {
        let (store, _request) = answering(response).await;
        errors.push(store.get(&run("r1")).await.unwrap_err());
    }
    assert_eq!(errors[0].message, "401: [bearer] is not Bearer [bearer]");
    for error in errors {
        let (shown, dumped) = (error.to_string(), format!("{error:?}"));
        assert!(
            [shown, dumped]
                .iter()
                .all(|text| !text.contains("the token") && !text.contains("http://")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_wrong_bearer_is_permanent() {
    let server = StateWorker::start("the token", ManualClock::at(NOW)).await;
    let store = WorkerStores::connect(&server.url, &secret("another"), None).unwrap();
    let error = store.put(&record("r1", NOW)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (StoreErrorKind::Permanent, "401: unauthorized")
    );
}

#[tokio::test]
async fn unreachable_store_is_transient() {
    let port = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let store =
        WorkerStores::connect(&format!("http://127.0.0.1:{port}"), &secret("t"), None).unwrap();
    assert_eq!(
        store.get(&run("r1")).await.unwrap_err().kind,
        StoreErrorKind::Transient
    );
    for response in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"record\":null}",
        "not http at all",
    ] {
        let (store, _request) = answering(response.to_owned()).await;
        assert_eq!(
            store.get(&run("r1")).await.unwrap_err().kind,
            StoreErrorKind::Transient,
            "{response}"
        );
    }
}

/// Returns the client's wait for a server that accepts, sends `response`, and stays silent.
async fn patience<T: std::fmt::Debug>(
    response: &'static str,
    call: impl AsyncFn(&WorkerStores) -> Result<T, StoreError>,
) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        request(&mut socket).await;
        socket.write_all(response.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let store = WorkerStores::connect(&url, &secret("t"), None).unwrap();
    let began = tokio::time::Instant::now();
    let error = call(&store).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Transient, "{error}");
    server.abort();
    began.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn silent_store_times_out() {
    for response in ["", "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"] {
        assert_eq!(
            patience(response, async |store| store.get(&run("r1")).await).await,
            10
        );
        assert_eq!(
            patience(response, async |store| store.live().await).await,
            10
        );
        assert_eq!(
            patience(response, async |store| Transcripts::read(store, &run("r1"))
                .await)
            .await,
            10
        );
        assert_eq!(
            patience(response, async |store| store.latest().await).await,
            10
        );
        let scope = StoreKey::parse("org:acme").unwrap();
        assert_eq!(
            patience(response, async |store| Memory::list(store, &scope, None, 5)
                .await)
            .await,
            5
        );
        assert_eq!(
            patience(response, async |store| store
                .forget(&scope, "mem:org:acme:0")
                .await)
            .await,
            5
        );
    }
}

#[test]
fn invalid_token_is_rejected_unquoted() {
    let error = WorkerStores::connect("http://127.0.0.1", &secret("to\nken"), None)
        .err()
        .unwrap();
    assert!(
        !error.message.contains("ken\n") && !error.message.contains("to\n"),
        "{error}"
    );
    assert_eq!(error.kind, StoreErrorKind::Permanent);
}
