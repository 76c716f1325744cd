//! Behavior that only a socket shows: malformed heads, and bodies with another length than
//! declared. The gate's unit tests cover all length kinds directly.

use ars_tests_contract::{Answer, Length, Sent, Subject, TOKEN, Workerd, records::record};
use serde_json::{Value, json};

/// Returns the body that puts a run.
fn put(id: &str) -> String {
    json!({ "storeKey": "wire", "record": record(id, 4_000_000_000_000) }).to_string()
}

/// Returns the status for a put with this length header.
fn status(worker: &mut Workerd, length: &str, body: &str) -> u16 {
    let head = format!(
        "POST /runs/put HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n"
    );
    worker.send_raw(format!("{head}{length}\r\n\r\n{body}").as_bytes())
}

/// Returns the stored runs.
fn stored(worker: &mut Workerd) -> Vec<Value> {
    let bearer = format!("Bearer {TOKEN}");
    let sent = Sent {
        method: "POST",
        path: "/runs/list",
        authorization: Some(&bearer),
        length: Length::True,
        body: br#"{"storeKey":"wire"}"#,
    };
    let Answer { status, body } = worker.send(&sent);
    assert_eq!(status, 200);
    body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].clone())
        .collect()
}

#[test]
fn missing_or_blank_length_is_rejected() {
    let mut worker = Workerd::start();
    for length in [
        "Content-Length:",
        "Content-Length:   ",
        "X-Content-Length: 2",
    ] {
        assert_eq!(status(&mut worker, length, "{}"), 411, "{length}");
    }
}

#[test]
fn malformed_length_reaches_no_store() {
    let mut worker = Workerd::start();
    let body = put("malformed");
    let length = body.len();
    for length in [
        format!("Content-Length: {length:#x}"),
        format!("Content-Length: {length}e0"),
        format!("Content-Length: {length}.0"),
        format!("Content-Length: +{length}"),
        "Content-Length: -1".to_owned(),
        format!("Content-Length: {length}, {length}"),
        format!("Content-Length: {length}\r\nContent-Length: 2"),
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
    ] {
        // The runtime rejects most before it calls the Worker.
        let status = status(&mut worker, &length, &body);
        assert!([0, 400, 411, 500].contains(&status), "{length}: {status}");
    }
    assert_eq!(stored(&mut worker), Vec::<Value>::new());
}

#[test]
fn oversized_body_is_rejected_before_it_is_sent() {
    let mut worker = Workerd::start();
    for length in ["2097153", "99999999", "99999999999999999999999999"] {
        assert_eq!(
            status(&mut worker, &format!("Content-Length: {length}"), ""),
            413,
            "{length}"
        );
    }
}

#[test]
fn truncated_body_is_rejected_without_an_error_log() {
    let mut worker = Workerd::start();
    let body = put("cut-off");
    // The JSON is complete, but shorter than declared.
    assert_eq!(
        status(
            &mut worker,
            &format!("Content-Length: {}", body.len() + 1),
            &body
        ),
        400
    );
    assert_eq!(stored(&mut worker), Vec::<Value>::new());
    assert!(!worker.log().contains("fault"), "{}", worker.log());
}

#[test]
fn bytes_beyond_the_declared_length_are_ignored() {
    let mut worker = Workerd::start();
    let body = put("declared");
    let length = format!("Content-Length: {}", body.len());
    assert_eq!(status(&mut worker, &length, &format!("{body}}}")), 200);
    let shorter = format!("Content-Length: {}", body.len() - 1);
    assert_eq!(status(&mut worker, &shorter, &body), 400);
    assert_eq!(stored(&mut worker), [json!("declared")]);
}
