//! Anthropic's client against the fake.

use std::time::Duration;

use ars_testkit::{Block, FakeAnthropic, Reply};
use ars_tests_models::{Client, run};
use serde_json::{Value, json};

use crate::{assert_raised, assert_refused, in_turn};

async fn ask(fake: &FakeAnthropic, scenario: &str, input: Value) -> Value {
    run(Client::Anthropic, scenario, &fake.url(), &input).await
}

fn conversation() -> [Reply; 2] {
    let blocks = vec![
        Block::Thinking {
            text: "It is the parser that I should look at first.".into(),
            signature: "c2ln".into(),
        },
        Block::Raw(json!({"type": "redacted_thinking", "data": "b3BhcXVl"})),
        Block::Text("I look at the tests before I change anything.".into()),
        Block::Tool {
            name: "bash".into(),
            input: json!({"command": "cargo test --workspace"}),
        },
        Block::Tool {
            name: "bash".into(),
            input: json!({}),
        },
    ];
    [
        Reply::blocks(blocks),
        Reply::text("done").stop("max_tokens"),
    ]
}

#[tokio::test]
async fn conversation_with_thinking_and_tools_is_understood() {
    let mut said = Vec::new();
    for scenario in ["converse whole", "converse streamed"] {
        let fake = FakeAnthropic::start().await;
        fake.push(conversation());
        // The client sends the thinking back, and the fake rejects it if it changed.
        said.push(ask(&fake, scenario, Value::Null).await);
        fake.assert_clean();
    }
    let first = &said[0][0];
    assert_eq!(first["content"][0]["signature"], "c2ln");
    assert_eq!(
        first["content"][1],
        json!({"type": "redacted_thinking", "data": "b3BhcXVl"})
    );
    assert_eq!(
        first["content"][3]["input"],
        json!({"command": "cargo test --workspace"})
    );
    assert_eq!(first["stop_reason"], "tool_use");
    assert_eq!(first["usage"]["output_tokens"], 7);
    assert_eq!(said[0][1]["stop_reason"], "max_tokens");
    for (whole, streamed) in said[0]
        .as_array()
        .unwrap()
        .iter()
        .zip(said[1].as_array().unwrap())
    {
        for field in ["content", "stop_reason", "role", "model"] {
            assert_eq!(whole[field], streamed[field], "{field}");
        }
        assert_eq!(
            whole["usage"]["cache_read_input_tokens"],
            streamed["usage"]["cache_read_input_tokens"]
        );
    }
}

#[tokio::test]
async fn slow_text_is_streamed() {
    let text = "A sentence that is longer than one piece of the stream: größer.";
    let fake = FakeAnthropic::start().await;
    fake.push([Reply::text(text).every(Duration::from_millis(2))]);
    let pieces = ask(&fake, "texts", Value::Null).await;
    let pieces: Vec<&str> = pieces
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(pieces.len() > 1);
    assert_eq!(pieces.concat(), text);
}

#[tokio::test]
async fn citations_and_server_tools_arrive() {
    let fake = FakeAnthropic::start().await;
    let citation = json!({
        "type": "char_location", "cited_text": "x", "document_index": 0, "document_title": null,
        "start_char_index": 0, "end_char_index": 1, "file_id": null,
    });
    let server_tool = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}});
    let cited = Block::Cited {
        text: "As it says.".into(),
        citation: citation.clone(),
    };
    fake.push([Reply::blocks(vec![Block::Raw(server_tool.clone()), cited])]);
    let said = ask(&fake, "converse streamed", Value::Null).await;
    assert_eq!(said[0]["content"][0], server_tool);
    assert_eq!(said[0]["content"][1]["citations"], json!([citation]));
}

#[tokio::test]
async fn errors_raise_the_clients_types() {
    let cases = [
        (400, "invalid_request_error", "BadRequestError"),
        (401, "authentication_error", "AuthenticationError"),
        (403, "permission_error", "PermissionDeniedError"),
        (404, "not_found_error", "NotFoundError"),
        (429, "rate_limit_error", "RateLimitError"),
        (500, "api_error", "InternalServerError"),
        (529, "overloaded_error", "OverloadedError"),
    ];
    let fake = FakeAnthropic::start().await;
    fake.push(cases.map(|(status, kind, _)| Reply::error(status, kind, "as scripted")));
    let failed = ask(&fake, "failing", in_turn(cases.len())).await;
    assert_raised(&failed, &cases);
}

#[tokio::test]
async fn broken_streams_fail_in_the_client() {
    let fake = FakeAnthropic::start().await;
    fake.push([
        Reply::text("x").fail_after(4, "overloaded_error", "as scripted"),
        Reply::text("a text of several pieces").cut_after(4),
    ]);
    let failed = ask(&fake, "failing", json!(["streamed", "streamed"])).await;
    assert!(
        failed[0]["message"]
            .as_str()
            .unwrap()
            .contains("as scripted"),
        "{failed}"
    );
    assert!(
        failed[1]["type"].as_str().unwrap().ends_with("Error"),
        "{failed}"
    );
}

#[tokio::test]
async fn client_honors_retry_headers() {
    let fake = FakeAnthropic::start().await;
    let busy = Reply::error(529, "overloaded_error", "busy").header("retry-after", "0.01");
    let limited = Reply::error(429, "rate_limit_error", "slow down").header("retry-after-ms", "10");
    fake.push([busy, limited, Reply::text("done")]);
    assert_eq!(
        ask(&fake, "retried", Value::Null).await["content"][0]["text"],
        "done"
    );
    assert_eq!(fake.request_count(), 3);
}

#[tokio::test]
async fn broken_rules_are_refused_as_bad_requests() {
    let mark = json!({"type": "ephemeral"});
    let marked = json!({"type": "text", "text": "x", "cache_control": mark});
    let bash = json!([{"name": "bash", "input_schema": {"type": "object"}}]);
    let asked = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "bash", "input": {}}]});
    let hi = json!({"role": "user", "content": "hi"});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "ok"});
    let late = json!({"role": "user", "content": [{"type": "text", "text": "x"}, result]});
    let thinking = json!({"type": "thinking", "thinking": "made up", "signature": "s"});
    let cases = [
        (json!({"messages": []}), "at least one message"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}),
            "non-whitespace",
        ),
        (
            json!({"messages": [{"role": "user", "content": [result]}], "tools": bash}),
            "unexpected tool_use_id",
        ),
        (
            json!({"messages": [hi, asked, hi], "tools": bash}),
            "without one tool_result each",
        ),
        (
            json!({"messages": [hi, asked, late], "tools": bash}),
            "must come first",
        ),
        (
            json!({"messages": [hi, asked], "tools": bash}),
            "unanswered",
        ),
        (
            json!({"messages": [{"role": "user", "content": [marked, marked, marked, marked, marked]}]}),
            "5 marks",
        ),
        (
            json!({"messages": [hi, {"role": "assistant", "content": [thinking]}]}),
            "cannot be modified",
        ),
        (
            json!({"messages": [hi], "extra_body": {"cache": true}}),
            "cache: extra inputs",
        ),
    ];
    let fake = FakeAnthropic::start().await;
    let failed = ask(
        &fake,
        "sending",
        cases.iter().map(|(body, _)| body.clone()).collect(),
    )
    .await;
    assert_refused(
        &failed,
        &fake.take_violations(),
        cases.iter().map(|(_, rule)| *rule),
    );
}
