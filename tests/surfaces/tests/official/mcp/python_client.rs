//! The official Python client.

use ars_tests_surfaces::{Service, run_mcp_client};
use serde_json::{Value, json};

const TOKENS: &str = r#"{
    "good": {"subject": "ann", "scopes": ["dispatch", "runs:read"]},
    "reader": {"subject": "bo", "scopes": ["runs:read"]}
}"#;

async fn steps(service: &Service, mode: &str, token: &str, steps: Value) -> Value {
    run_mcp_client(mode, &service.url("/mcp"), token, &steps).await
}

/// Mode `auto` uses the newest revision, and checks structured content against the schemas.
#[tokio::test]
async fn client_of_each_mode_uses_the_tools() {
    let service = Service::start(TOKENS).await;
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let plan = json!([
            {"do": "server"},
            {"do": "list"},
            {"do": "call", "name": "dispatch", "arguments": {"text": "what?", "thread": mode}},
            {"do": "call", "name": "runs_list", "arguments": {"status": "all"}},
        ]);
        let reports = steps(&service, mode, "good", plan).await;
        assert_eq!(reports[0]["version"], version, "{mode}: {reports}");
        assert_eq!(
            reports[0]["server"],
            json!({"name": "agent-request-service", "version": "0.1.0"})
        );
        assert_eq!(reports[0]["capabilities"]["tools"], json!({}));
        let tools = reports[1]["tools"].as_array().unwrap();
        assert_eq!(tools[0]["name"], "dispatch");
        assert!(
            tools.iter().any(|tool| tool["name"] == "runs_stop"),
            "{reports}"
        );
        assert_eq!(
            reports[2]["content"],
            json!([{"type": "text", "text": "[rehearsal] forty-two"}]),
            "{reports}"
        );
        let listed = reports[3]["content"][0]["text"].as_str().unwrap();
        let (head, json) = listed.split_once('\n').unwrap();
        assert_eq!(head, "runs.list: ok");
        let listed: Value = serde_json::from_str(json).unwrap();
        assert!(listed["runs"].is_array(), "{listed}");
        assert_eq!(reports[3].get("structuredContent"), Some(&listed), "{mode}");
    }
}

#[tokio::test]
async fn client_shows_codes_of_errors() {
    let service = Service::start(TOKENS).await;
    let plan = json!([
        {"do": "call", "name": "dispatch", "arguments": {"text": "x"}},
        {"do": "call", "name": "runs_get", "arguments": {"id": "unknown"}},
        {"do": "call", "name": "runs_get", "arguments": {"canary": 1}},
        {"do": "call", "name": "nothing", "arguments": {}},
        {"do": "call", "name": "runs_list", "arguments": {"status": "all"}},
    ]);
    let reports = steps(&service, "legacy", "reader", plan).await;
    for (index, code, name) in [
        (0, -32001, "unauthorized"),
        (1, -32002, "not_found"),
        (2, -32602, "invalid_input"),
        (3, -32602, "invalid_input"),
    ] {
        assert_eq!(
            (&reports[index]["code"], &reports[index]["data"]["code"]),
            (&json!(code), &json!(name))
        );
    }
    let listed = reports[4]["content"][0]["text"].as_str().unwrap();
    assert!(
        listed.contains(r#""runs":[]"#),
        "no request started a run: {listed}"
    );
}

#[tokio::test]
async fn client_with_unknown_token_is_rejected() {
    let service = Service::start(TOKENS).await;
    for mode in ["legacy", "auto"] {
        let reports = steps(&service, mode, "nope", json!([{"do": "list"}])).await;
        assert_eq!(
            reports,
            json!([{"code": -32001, "message": "unauthorized", "data": null}])
        );
    }
}
