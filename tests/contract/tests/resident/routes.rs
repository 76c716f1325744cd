//! Bearers, and the check order before any work.

use ars_tests_workerd::{TOKEN, resident_worker};
use serde_json::json;

use crate::{get, onboarding, post};

#[test]
fn checks_have_their_order() {
    let worker = resident_worker();
    let client = &worker.client;
    let health = client.get("/healthz");
    assert_eq!((health.status, &health.body["ok"]), (200, &json!(true)));
    assert!(health.body["build"]["commit"].is_string());
    // An unknown path is unauthorized to all but the administrator.
    for (path, role, status) in [
        ("/nope", "operator", 401),
        ("/nope", "read", 401),
        ("/nope", "admin", 404),
        ("/residents", "operator", 401),
        ("/residents", "read", 200),
        ("/onboard", "operator", 401),
        ("/onboard", "admin", 405),
        ("/attach", "read", 401),
        ("/attach", "operator", 405),
        ("/status?resource=repo:acme/app", "operator", 404),
        ("/status?resource=nonsense", "operator", 400),
        ("/status", "read", 401),
    ] {
        assert_eq!(
            get(client, path, role).status,
            status,
            "GET {path} as {role}"
        );
    }
    let unknown = client.get("/residents");
    assert_eq!(
        (unknown.status, unknown.body),
        (401, json!({ "error": "unauthorized" }))
    );
    let lower = format!("bearer {TOKEN}-admin");
    assert_eq!(
        client
            .send("GET", "/residents", &[("authorization", &lower)], b"")
            .status,
        401
    );
    // Fields are checked after the route, and a body that is no object counts as empty.
    for body in ["", "[]", "{\"resource\":\"repo:Acme/App\"}"] {
        let token = format!("{TOKEN}-admin");
        assert_eq!(
            client
                .post_bytes("/onboard", &token, body.as_bytes())
                .status,
            400,
            "{body}"
        );
    }
    let debug = |role, op| {
        post(
            client,
            "/debug",
            role,
            &json!({ "op": op, "resource": "repo:acme/app" }),
        )
    };
    assert_eq!(debug("read", "kill-refresh").status, 403);
    assert_eq!(debug("read", "info").status, 404);
    assert_eq!(debug("operator", "info").status, 401);
    assert_eq!(debug("admin", "format").status, 400);
}

#[test]
fn streamed_answer_is_one_document_with_its_status() {
    let worker = resident_worker();
    let client = &worker.client;
    let attach = json!({ "resource": "repo:acme/app", "threadKey": "http:1", "refHint": "main" });
    // Before the stream a rejection has a separate status.
    assert_eq!(post(client, "/attach", "operator", &attach).status, 404);
    assert_eq!(
        post(client, "/onboard", "admin", &onboarding("repo:acme/app")).status,
        202
    );
    let answer = post(client, "/attach", "operator", &attach);
    assert_eq!(
        (answer.status, &answer.body["status"]),
        (200, &json!(503)),
        "{:?}",
        answer.body
    );
    assert!(
        answer.body["error"]
            .as_str()
            .unwrap()
            .starts_with("not-serviceable"),
        "{:?}",
        answer.body
    );
    let exec = json!({ "resource": "repo:acme/app", "threadKey": "http:1", "command": "true" });
    let answer = post(client, "/exec", "operator", &exec);
    assert_eq!(
        (answer.status, &answer.body["exitCode"]),
        (200, &json!(127)),
        "{:?}",
        answer.body
    );
}
