//! The order of checks (state-worker supplement section 1.1) as a caller sees it. The full table is a unit test of
//! the Worker's gate; this shows that the runtime hands the gate what it needs.

use ars_tests_workerd::{Running, TOKEN, raw_status, state_worker, state_worker_build};
use serde_json::json;

const PUT: &str = "/runs/put";
const ROUTES: [&str; 4] = ["/runs/put", "/runs/get", "/runs/list", "/runs/events"];

#[test]
fn health_needs_no_credential_and_lists_what_is_served() {
    let worker = state_worker();
    let answer = worker.client.get("/healthz");
    assert_eq!((answer.status, answer.content_type.as_str()), (200, "application/json"));
    assert_eq!(answer.body, json!({ "ok": true, "features": ["runs"] }));
    assert_eq!(worker.client.get("/healthz?probe=1").status, 200);
}

#[test]
fn each_check_answers_before_the_next() {
    let worker = state_worker();
    let bearer = ("authorization", format!("Bearer {TOKEN}"));
    let bearer = [(bearer.0, bearer.1.as_str())];
    let client = &worker.client;
    let long = vec![b'x'; 3 * 1024 * 1024];
    // Everything is wrong with the first request, and one thing less with each that follows.
    let checks = [
        (client.send("GET", "/runs/nothing", &[], b""), 404, "not found"),
        (client.send("GET", PUT, &[], b""), 405, "method not allowed"),
        // A body that no bearer vouches for is not read, however long.
        (client.send("POST", PUT, &[], b"no json"), 401, "unauthorized"),
        (client.send("POST", PUT, &bearer, &long), 413, "the body may have at most 2097152 bytes"),
        (client.send("POST", PUT, &bearer, b"no json"), 400, "body must be a JSON object"),
    ];
    for (answer, status, error) in checks {
        assert_eq!(answer.body, json!({ "error": error }), "{answer:?}");
        assert_eq!((answer.status, answer.content_type.as_str()), (status, "application/json"));
    }
}

#[test]
fn unknown_paths_are_not_found_before_anything_else() {
    let worker = state_worker();
    for path in
        ["/", "/runs", "/runs/put/", "/runs/inbox/read", "/runs/abandon", "/config/get", "/healthz/", "//healthz"]
    {
        for method in ["GET", "POST", "DELETE"] {
            assert_eq!(worker.client.send(method, path, &[], b"").status, 404, "{method} {path}");
        }
    }
    assert_eq!(worker.client.send("POST", "/healthz", &[], b"{}").status, 404);
}

#[test]
fn every_route_takes_post_alone() {
    let worker = state_worker();
    for path in ROUTES {
        for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            assert_eq!(worker.client.send(method, path, &[], b"").status, 405, "{method} {path}");
        }
    }
}

#[test]
fn only_the_token_in_its_literal_form_is_let_in() {
    let worker = state_worker();
    let body = json!({ "storeKey": "runs:default", "id": "a" }).to_string();
    let status = |authorization: &str| {
        let headers = [("authorization", authorization)];
        worker.client.send("POST", "/runs/get", &headers, body.as_bytes()).status
    };
    assert_eq!(status(&format!("Bearer {TOKEN}")), 200);
    for other in
        ["", TOKEN, "Bearer", "Bearer wrong", &format!("bearer {TOKEN}"), &format!("Bearer {TOKEN}x")]
    {
        assert_eq!(status(other), 401, "{other:?}");
    }
}

#[test]
fn without_a_secret_nothing_but_health_is_open() {
    let worker = Running::start(state_worker_build(), |settings| settings);
    assert_eq!(worker.client.get("/healthz").status, 200);
    for token in ["", "undefined", "null", TOKEN] {
        assert_eq!(worker.client.post("/runs/get", token, &json!({})).status, 401, "{token:?}");
    }
}

#[test]
fn a_length_must_be_declared() {
    let worker = state_worker();
    let head = format!("POST {PUT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n");
    let status = |rest: &str| raw_status(worker.client.address(), &format!("{head}{rest}"));
    assert_eq!(status("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), 411);
    assert_eq!(status("Content-Length: 2\r\n\r\n{}"), 400);
    // Without a bearer the same request is not told about lengths.
    let anonymous = format!("POST {PUT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(raw_status(worker.client.address(), &anonymous), 401);
}

#[test]
fn a_body_over_the_fence_is_refused_before_it_is_sent() {
    let worker = state_worker();
    let head = format!("POST {PUT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n");
    // Not one byte of the body follows: the answer cannot depend on it.
    let request = format!("{head}Content-Length: 2097153\r\n\r\n");
    assert_eq!(raw_status(worker.client.address(), &request), 413);
}

#[test]
fn the_fence_is_counted_in_bytes_and_a_body_of_just_that_size_is_read() {
    let worker = state_worker();
    for (path, fence) in
        [(PUT, 2_097_152), ("/runs/get", 524_288), ("/runs/list", 524_288), ("/runs/events", 524_288)]
    {
        // Two bytes a character: counted in characters this would be half.
        let padded = |bytes: usize| {
            let open = r#"{"storeKey":"runs:default","limit":0,"id":"!","pad":""#;
            let room = bytes - open.len() - r#""}"#.len();
            format!(r#"{open}{}{}"}}"#, "é".repeat(room / 2), "x".repeat(room % 2))
        };
        let at = padded(fence);
        assert_eq!(at.len(), fence);
        // Read whole: the refusal is about a field.
        let answer = worker.client.post_bytes(path, TOKEN, at.as_bytes());
        assert_eq!(answer.status, 400, "{path}");
        assert!(!answer.body["error"].as_str().unwrap().starts_with("body"), "{path}: {answer:?}");
        assert_eq!(worker.client.post_bytes(path, TOKEN, padded(fence + 1).as_bytes()).status, 413, "{path}");
    }
}
