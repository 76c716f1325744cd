//! `OpenAI`'s client against the fake.

use ars_testkit::{Block, FakeOpenAi, Reply};
use ars_tests_models::{Client, run};
use serde_json::{Value, json};

use crate::{assert_raised, assert_refused, in_turn};

async fn ask(fake: &FakeOpenAi, scenario: &str, input: Value) -> Value {
    run(Client::OpenAi, scenario, &fake.url(), &input).await
}

#[tokio::test]
async fn conversation_with_tools_is_understood() {
    let mut said = Vec::new();
    for scenario in ["converse whole", "converse streamed"] {
        let fake = FakeOpenAi::start().await;
        let calls = vec![
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
        fake.push([Reply::blocks(calls), Reply::text("done").stop("stop")]);
        said.push(ask(&fake, scenario, Value::Null).await);
        fake.assert_clean();
    }
    let first = &said[0][0]["choices"][0];
    assert_eq!(first["finish_reason"], "tool_calls");
    let arguments = first["message"]["tool_calls"][0]["function"]["arguments"]
        .as_str()
        .unwrap();
    assert_eq!(arguments, r#"{"command":"cargo test --workspace"}"#);
    for (whole, streamed) in said[0]
        .as_array()
        .unwrap()
        .iter()
        .zip(said[1].as_array().unwrap())
    {
        assert_eq!(whole["usage"], streamed["usage"]);
        let whole = &whole["choices"][0];
        let streamed = &streamed["choices"][0];
        assert_eq!(whole["finish_reason"], streamed["finish_reason"]);
        assert_eq!(whole["message"]["content"], streamed["message"]["content"]);
        let names = |choice: &Value| -> Vec<Value> {
            let calls = choice["message"]["tool_calls"]
                .as_array()
                .into_iter()
                .flatten();
            calls
                .map(|call| {
                    json!([
                        call["id"],
                        call["function"]["name"],
                        call["function"]["arguments"]
                    ])
                })
                .collect()
        };
        assert_eq!(names(whole), names(streamed));
    }
}

#[tokio::test]
async fn errors_raise_the_clients_types() {
    let cases = [
        (400, "invalid_request_error", "BadRequestError"),
        (401, "invalid_api_key", "AuthenticationError"),
        (403, "forbidden", "PermissionDeniedError"),
        (404, "model_not_found", "NotFoundError"),
        (429, "rate_limit_exceeded", "RateLimitError"),
        (503, "server_error", "InternalServerError"),
    ];
    let fake = FakeOpenAi::start().await;
    fake.push(cases.map(|(status, kind, _)| Reply::error(status, kind, "as scripted")));
    let failed = ask(&fake, "failing", in_turn(cases.len())).await;
    assert_raised(&failed, &cases);
}

#[tokio::test]
async fn broken_streams_fail_in_the_client() {
    let fake = FakeOpenAi::start().await;
    fake.push([
        Reply::text("a text of several pieces").fail_after(2, "server_error", "as scripted"),
        Reply::text("a text of several pieces").cut_after(2),
    ]);
    let failed = ask(&fake, "failing", json!(["streamed", "streamed"])).await;
    assert_eq!(
        (&failed[0]["type"], &failed[0]["message"]),
        (&json!("APIError"), &json!("as scripted"))
    );
    assert!(
        failed[1]["type"].as_str().unwrap().ends_with("Error"),
        "{failed}"
    );
}

#[tokio::test]
async fn client_honors_retry_headers() {
    let fake = FakeOpenAi::start().await;
    let limited =
        Reply::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "10");
    fake.push([limited, Reply::text("done")]);
    assert_eq!(
        ask(&fake, "retried", Value::Null).await["choices"][0]["message"]["content"],
        "done"
    );
    assert_eq!(fake.request_count(), 2);
}

#[tokio::test]
async fn broken_rules_are_refused_as_bad_requests() {
    let hi = json!({"role": "user", "content": "hi"});
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}});
    let asked = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let answer = json!({"role": "tool", "tool_call_id": "c", "content": "ok"});
    let cases = [
        (json!({"messages": []}), "messages: empty"),
        (
            json!({"messages": [hi, answer]}),
            "answers no open tool call",
        ),
        (json!({"messages": [hi, asked, hi]}), "have no answer"),
        (json!({"messages": [hi, asked]}), "unanswered"),
        (
            json!({"messages": [hi], "extra_body": {"cache_control": {}}}),
            "cache_control",
        ),
    ];
    let fake = FakeOpenAi::start().await;
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
