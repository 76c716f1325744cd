//! What only a socket can show: heads that no proper client sends, and bodies that are not as long as they say
//! (section 1.1, checks 4 and 5). The gate's own unit tests hold lengths of every kind against it directly.

use ars_tests_contract::{Answer, Length, Sent, Subject, TOKEN, Workerd, records::record};
use serde_json::{Value, json};

/// A put of a run, as a body.
fn put(id: &str) -> String {
    json!({ "storeKey": "wire", "record": record(id, 4_000_000_000_000) }).to_string()
}

/// The status of a put whose head says this of its length.
fn status(worker: &mut Workerd, length: &str, body: &str) -> u16 {
    let head = format!(
        "POST /runs/put HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n"
    );
    worker.send_raw(format!("{head}{length}\r\n\r\n{body}").as_bytes())
}

/// The runs that are stored.
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
    body["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect()
}

#[test]
fn a_length_that_is_blank_or_missing_is_asked_for() {
    let mut worker = Workerd::start();
    for length in ["Content-Length:", "Content-Length:   ", "X-Content-Length: 2"] {
        assert_eq!(status(&mut worker, length, "{}"), 411, "{length}");
    }
}

#[test]
fn a_length_that_is_no_plain_number_reaches_no_store() {
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
        // The runtime refuses most of these itself, before any Worker is asked.
        let status = status(&mut worker, &length, &body);
        assert!([0, 400, 411, 500].contains(&status), "{length}: {status}");
    }
    assert_eq!(stored(&mut worker), Vec::<Value>::new());
}

#[test]
fn a_body_over_the_fence_is_refused_before_it_is_sent() {
    let mut worker = Workerd::start();
    for length in ["2097153", "99999999", "99999999999999999999999999"] {
        assert_eq!(status(&mut worker, &format!("Content-Length: {length}"), ""), 413, "{length}");
    }
}

#[test]
fn a_body_that_is_cut_off_is_refused_and_is_no_fault_of_ours() {
    let mut worker = Workerd::start();
    let body = put("cut-off");
    // The whole JSON is there, and still not all that was announced.
    assert_eq!(status(&mut worker, &format!("Content-Length: {}", body.len() + 1), &body), 400);
    assert_eq!(stored(&mut worker), Vec::<Value>::new());
    assert!(!worker.log().contains("fault"), "{}", worker.log());
}

#[test]
fn bytes_beyond_the_declared_length_are_no_part_of_the_body() {
    let mut worker = Workerd::start();
    let body = put("declared");
    let length = format!("Content-Length: {}", body.len());
    assert_eq!(status(&mut worker, &length, &format!("{body}}}")), 200);
    let shorter = format!("Content-Length: {}", body.len() - 1);
    assert_eq!(status(&mut worker, &shorter, &body), 400);
    assert_eq!(stored(&mut worker), [json!("declared")]);
}
