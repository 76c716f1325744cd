//! What only the state Worker's client can meet: other statuses, other networks, other answers.

use ars_bot_adapters::stores::WorkerRunStore;
use ars_bot_core::ports::{RunStore, StoreErrorKind};
use ars_wire::runs::ListRequest;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use crate::{
    fixture::{ManualClock, NOW, record, run, secret},
    state_worker::StateWorker,
};

/// Answers one request with these bytes and hangs up; the task yields the request.
async fn answering(response: String) -> (WorkerRunStore, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        // Every request here ends with its body's closing brace.
        while !request.ends_with(b"}") {
            assert_ne!(socket.read_buf(&mut request).await.unwrap(), 0);
        }
        socket.write_all(response.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        String::from_utf8(request).unwrap()
    });
    (WorkerRunStore::connect(&url, &secret("the token"), None).unwrap(), task)
}

fn http(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_request_carries_its_length_its_type_and_the_bearer() {
    let (store, request) = answering(http("200 OK", r#"{"record":null}"#)).await;
    assert_eq!(store.get(&run("r1")).await.unwrap(), None);
    let request = request.await.unwrap().to_lowercase();
    assert!(request.starts_with("post /runs/get http/1.1\r\n"), "one slash between the base and the route");
    let body = r#"{"storekey":"runs:default","id":"r1"}"#;
    assert!(request.ends_with(&format!("\r\n\r\n{body}")), "{request}");
    for header in [
        "authorization: bearer the token",
        "content-type: application/json",
        &format!("content-length: {}", body.len()),
    ] {
        assert!(request.contains(&format!("\r\n{header}\r\n")), "{header} in {request}");
    }
}

#[tokio::test]
async fn statuses_fall_into_their_classes() {
    use StoreErrorKind::{Permanent, RouteMissing, Transient};
    for (status, kind) in [
        ("404 Not Found", RouteMissing),
        ("500 Oops", Transient),
        ("502 Bad Gateway", Transient),
        ("503 Busy", Transient),
        ("408 Slow", Transient),
        ("429 Often", Transient),
        ("400 Bad", Permanent),
        ("401 No", Permanent),
        ("403 No", Permanent),
        ("405 No", Permanent),
        ("409 No", Permanent),
        ("411 No", Permanent),
        ("413 Big", Permanent),
        ("204 Nothing", Permanent),
        ("302 Elsewhere\r\nlocation: http://127.0.0.1:1/", Permanent),
    ] {
        let (store, _request) = answering(http(status, r#"{"error":"the reason"}"#)).await;
        let error = store.get(&run("r1")).await.unwrap_err();
        assert_eq!(error.kind, kind, "{status}: {error}");
        assert!(error.message.starts_with(&status[..3]), "{error}");
    }
    let (store, _request) = answering(http("400 Bad", r#"{"error":"limit must be\n less"}"#)).await;
    assert_eq!(store.get(&run("r1")).await.unwrap_err().message, "400: limit must be less");
}

#[tokio::test]
async fn a_wrong_bearer_is_permanent() {
    let server = StateWorker::start("the token", ManualClock::at(NOW)).await;
    let store = WorkerRunStore::connect(&server.url, &secret("another"), None).unwrap();
    let error = store.put(&record("r1", NOW)).await.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (StoreErrorKind::Permanent, "401: unauthorized"));
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_or_hangs_up_is_transient() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let store = WorkerRunStore::connect(&format!("http://127.0.0.1:{port}"), &secret("t"), None).unwrap();
    assert_eq!(store.get(&run("r1")).await.unwrap_err().kind, StoreErrorKind::Transient);
    for response in ["", "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"record\":null}", "not http at all"]
    {
        let (store, _request) = answering(response.to_owned()).await;
        assert_eq!(store.get(&run("r1")).await.unwrap_err().kind, StoreErrorKind::Transient, "{response}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_given_up_after_ten_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let store = WorkerRunStore::connect(&url, &secret("t"), None).unwrap();
    let began = tokio::time::Instant::now();
    let error = store.get(&run("r1")).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Transient, "{error}");
    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn an_answer_that_is_not_what_was_asked_for_is_permanent() {
    let another = serde_json::to_string(&record("r2", NOW)).unwrap();
    for body in [
        "",
        "null",
        "[]",
        "{",
        "{}",
        "{\"record\":[]}",
        &format!("{{\"record\":{another}}}"),
        "{\"record\":{\"id\":\"r1\"}}",
    ] {
        let (store, _request) = answering(http("200 OK", body)).await;
        assert_eq!(store.get(&run("r1")).await.unwrap_err().kind, StoreErrorKind::Permanent, "{body}");
    }
    for body in ["{}", r#"{"ok":false,"retained":1,"stored":true,"rewritten":false}"#, r#"{"ok":true}"#] {
        let (store, _request) = answering(http("200 OK", body)).await;
        assert_eq!(
            store.put(&record("r1", NOW)).await.unwrap_err().kind,
            StoreErrorKind::Permanent,
            "{body}"
        );
    }
    for body in [
        r#"{"items":{}}"#,
        r#"{"items":[1]}"#,
        r#"{"items":[{"id":"r1"}]}"#,
        r#"{"items":[],"nextBefore":{}}"#,
    ] {
        let (store, _request) = answering(http("200 OK", body)).await;
        let error = store.list(&ListRequest::default()).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{body}");
    }
    for body in
        ["{}", r#"{"events":[{}]}"#, r#"{"events":[{"type":"x"}]}"#, r#"{"events":[],"nextAfterSeq":-1}"#]
    {
        let (store, _request) = answering(http("200 OK", body)).await;
        let error = store.events(&run("r1"), 0, 5).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{body}");
    }
}

#[tokio::test]
async fn a_record_another_writer_left_half_a_character_in_is_still_read() {
    let text = serde_json::to_string(&record("r1", NOW)).unwrap().replace("a run", "cut \\ud83d");
    let (store, _request) = answering(http("200 OK", &format!("{{\"record\":{text}}}"))).await;
    assert_eq!(store.get(&run("r1")).await.unwrap().unwrap().label.as_deref(), Some("cut \u{FFFD}"));
}

#[test]
fn a_token_that_no_header_can_carry_is_refused_without_showing_it() {
    let error = WorkerRunStore::connect("http://127.0.0.1", &secret("to\nken"), None).err().unwrap();
    assert!(!error.message.contains("ken\n") && !error.message.contains("to\n"), "{error}");
    assert_eq!(error.kind, StoreErrorKind::Permanent);
}
