//! OpenAI-compatible server client: streaming, tools, files, errors, retries, cancellation.

use std::{sync::Arc, time::Duration};

use ars_agent::{Part, Role, StopReason, ToolContent, Turn, Usage};
use ars_bot_adapters::models::{ProviderKind, RetryPolicy, Transport};
use ars_bot_ports::{ModelClient, ModelErrorKind};
use ars_testkit::{Block, FakeOpenAi, Reply};
use serde_json::{Value, json};

use crate::support::{Conversation, KEY, client as make, text_result, transport};

const MODEL: &str = "qwen3-coder";

fn client(fake: &FakeOpenAi) -> Arc<dyn ModelClient> {
    make(
        ProviderKind::OpenAiCompatible,
        Some(KEY),
        &fake.url(),
        transport(),
    )
}

#[tokio::test]
async fn prose_streams_before_the_complete_turn() {
    let fake = FakeOpenAi::start().await;
    let thinking = Block::Thinking {
        text: "hm".into(),
        signature: String::new(),
    };
    let text = "A sentence that is longer than one piece of the stream: größer.";
    fake.push([Reply::blocks(vec![thinking, Block::Text(text.into())])]);
    let conversation = Conversation::new(MODEL);
    let turn = conversation.call(&*client(&fake)).await.unwrap();
    assert_eq!(conversation.streamed(), text);
    assert_eq!(
        (turn.parts, turn.stop),
        (vec![Part::text(text)], StopReason::EndTurn)
    );
    let usage = Usage {
        input_tokens: 12,
        output_tokens: 7,
        cache_read_tokens: 3,
        cache_write_tokens: 0,
    };
    assert_eq!(turn.usage, usage);
    let request = fake.requests().remove(0);
    assert_eq!(request.header("authorization"), format!("Bearer {KEY}"));
    let body = &request.body;
    assert_eq!(
        (&body["model"], &body["max_tokens"]),
        (&json!(MODEL), &json!(64))
    );
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "Be brief."})
    );
    assert_eq!(body.get("reasoning_effort"), None);
}

#[tokio::test]
async fn tools_are_called_and_answered() {
    let fake = FakeOpenAi::start().await;
    let calls = vec![
        Block::Text("Looking.".into()),
        Block::Tool {
            name: "bash".into(),
            input: json!({"command": "a rather long command line"}),
        },
        Block::RawTool {
            name: "bash".into(),
            arguments: String::new(),
        },
        Block::RawTool {
            name: "bash".into(),
            arguments: "{\"comm".into(),
        },
    ];
    fake.push([Reply::blocks(calls), Reply::text("done")]);
    let (mut conversation, client) = (Conversation::new(MODEL), client(&fake));
    let turn = conversation.call(&*client).await.unwrap();
    let inputs: Vec<&Value> = turn
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { input, .. } => Some(input),
            _ => None,
        })
        .collect();
    assert_eq!(
        inputs,
        [
            &json!({"command": "a rather long command line"}),
            &json!({}),
            &json!("{\"comm")
        ]
    );
    assert_eq!(
        (&turn.parts[0], &turn.stop),
        (&Part::text("Looking."), &StopReason::ToolUse)
    );
    conversation.answer_calls(&turn, &text_result("ok"));
    assert_eq!(
        conversation.call(&*client).await.unwrap().parts,
        [Part::text("done")]
    );
    let messages = fake.requests()[1].body["messages"].clone();
    let roles: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["role"].as_str())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "tool", "tool"]
    );
    assert_eq!(messages[3]["content"], json!("ok"));
}

#[tokio::test]
async fn result_images_move_to_the_user_message() {
    let fake = FakeOpenAi::start().await;
    fake.push([Reply::tool("bash", json!({})), Reply::text("seen")]);
    let (mut conversation, client) = (Conversation::new(MODEL), client(&fake));
    let turn = conversation.call(&*client).await.unwrap();
    let image = ToolContent::Image {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let pdf = ToolContent::Document {
        media_type: "application/pdf".into(),
        data: "JVBE".into(),
    };
    conversation.answer_calls(
        &turn,
        &[ToolContent::Text { text: "ok".into() }, image, pdf],
    );
    conversation.turns.push(Turn {
        role: Role::User,
        parts: vec![
            Part::Document {
                media_type: "application/pdf".into(),
                data: "JVBE".into(),
                name: Some("a.pdf".into()),
            },
            Part::Document {
                media_type: "text/plain".into(),
                data: "aGk=".into(),
                name: Some("a.txt".into()),
            },
            Part::Opaque {
                api: "anthropic".into(),
                block: json!({"type": "thinking"}),
            },
        ],
    });
    conversation.call(&*client).await.unwrap();
    let messages = fake.requests()[1].body["messages"].clone();
    let result = messages[3]["content"].as_str().unwrap();
    assert!(
        result.starts_with("ok\n") && result.contains("(application/pdf) left out"),
        "{result}"
    );
    let user = &messages[4];
    assert_eq!(user["role"], "user");
    assert_eq!(
        user["content"][1]["image_url"]["url"],
        json!("data:image/png;base64,AAAA")
    );
    assert!(
        user["content"][2]["text"]
            .as_str()
            .unwrap()
            .contains("file a.pdf")
    );
    assert_eq!(user["content"][3]["text"], json!("[file a.txt]\nhi"));
    assert_eq!(user["content"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn model_name_is_sent_unchanged() {
    for model in ["qwen-max", "o3-high", "meta/llama-3", "ns::model"] {
        let fake = FakeOpenAi::start().await;
        fake.push([Reply::text("ok")]);
        Conversation::new(model)
            .call(&*client(&fake))
            .await
            .unwrap();
        let body = fake.requests().remove(0).body;
        assert_eq!(
            (&body["model"], body.get("reasoning_effort")),
            (&json!(model), None)
        );
    }
}

#[tokio::test]
async fn newer_models_get_tools_without_reasoning() {
    let fake = FakeOpenAi::start().await;
    fake.push([Reply::text("ok"), Reply::text("ok")]);
    let conversation = Conversation::new("gpt-5.6-sol");
    conversation.call(&*client(&fake)).await.unwrap();
    Conversation {
        tools: vec![],
        ..conversation
    }
    .call(&*client(&fake))
    .await
    .unwrap();
    let requests = fake.requests();
    assert_eq!(requests[0].body["reasoning_effort"], json!("none"));
    assert_eq!(requests[0].body["max_completion_tokens"], json!(64));
    assert_eq!(requests[1].body.get("reasoning_effort"), None);
}

#[tokio::test]
async fn a_closing_call_describes_tools_but_forbids_them() {
    let fake = FakeOpenAi::start().await;
    fake.push([Reply::text("so far")]);
    let conversation = Conversation {
        may_call_tools: false,
        ..Conversation::new(MODEL)
    };
    conversation.call(&*client(&fake)).await.unwrap();
    let body = fake.requests().remove(0).body;
    assert_eq!(
        (&body["tool_choice"], &body["tools"][0]["function"]["name"]),
        (&json!("none"), &json!("bash"))
    );
}

#[tokio::test]
async fn local_server_needs_no_key() {
    let fake = FakeOpenAi::start().await;
    for suffix in ["", "/", "/v1", "/v1/"] {
        fake.push([Reply::text("ok")]);
        let url = format!("{}{suffix}", fake.url());
        let client = make(ProviderKind::OpenAiCompatible, None, &url, transport());
        Conversation::new(MODEL).call(&*client).await.unwrap();
    }
    assert!(
        fake.requests()
            .iter()
            .all(|request| request.header("authorization").is_empty())
    );
}

#[tokio::test]
async fn busy_server_is_retried_after_its_wait() {
    let fake = FakeOpenAi::start().await;
    fake.push([
        Reply::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "0.02"),
        Reply::error(503, "unavailable", "loading model"),
        Reply::error(500, "server_error", "oops"),
    ]);
    let conversation = Conversation::new(MODEL);
    let error = conversation.call(&*client(&fake)).await.unwrap_err();
    // Two busy responses and a failure use up the three attempts at a failing server.
    assert_eq!(error.kind, ModelErrorKind::Failed);
    assert_eq!(conversation.waits()[0], Duration::from_millis(20));
    assert_eq!(fake.request_count(), 3);
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    let cases = [
        (
            401,
            "invalid_api_key",
            "Incorrect API key provided",
            ModelErrorKind::Unauthorized,
        ),
        (
            429,
            "insufficient_quota",
            "You exceeded your current quota",
            ModelErrorKind::Invalid,
        ),
        (
            400,
            "context_length_exceeded",
            "too many tokens",
            ModelErrorKind::ContextTooLong,
        ),
        (
            400,
            "invalid_image_format",
            "You uploaded an unsupported image",
            ModelErrorKind::FileRejected,
        ),
        (
            400,
            "invalid_request_error",
            "maximum context length is 8192 tokens",
            ModelErrorKind::ContextTooLong,
        ),
        (
            404,
            "model_not_found",
            "no such model",
            ModelErrorKind::Invalid,
        ),
    ];
    for (status, kind, message, expected) in cases {
        let fake = FakeOpenAi::start().await;
        fake.push([Reply::error(status, kind, format!("{message}: {KEY}"))]);
        let error = Conversation::new(MODEL)
            .call(&*client(&fake))
            .await
            .unwrap_err();
        assert_eq!(error.kind, expected, "{message}");
        assert!(!error.to_string().contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn interrupted_stream_is_retried() {
    for broken in [
        Reply::text("a text of several pieces, cut short").cut_after(2),
        Reply::text("a text of several pieces, cut short").end_after(2),
        Reply::text("a text of several pieces, cut short").fail_after(
            2,
            "server_error",
            "overloaded",
        ),
    ] {
        let fake = FakeOpenAi::start().await;
        fake.push([broken, Reply::text("whole")]);
        let conversation = Conversation::new(MODEL);
        let turn = conversation.call(&*client(&fake)).await.unwrap();
        assert_eq!(turn.parts, [Part::text("whole")]);
        assert_eq!(conversation.waits().len(), 1);
    }
}

#[tokio::test]
async fn stop_reasons_have_their_meaning() {
    for (word, expected) in [
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal(None)),
        ("bored", StopReason::Other("bored".into())),
    ] {
        let fake = FakeOpenAi::start().await;
        fake.push([Reply::text("x").stop(word)]);
        assert_eq!(
            Conversation::new(MODEL)
                .call(&*client(&fake))
                .await
                .unwrap()
                .stop,
            expected
        );
    }
    let fake = FakeOpenAi::answering(|_| Reply::text("x").stop("tool_calls")).await;
    let error = Conversation::new(MODEL)
        .call(&*client(&fake))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Protocol);
}

#[tokio::test]
async fn reason_of_a_refusal_is_read_without_an_answer() {
    let reason = "I cannot help with policy seven, and here is more than one piece of it.";
    let fake = FakeOpenAi::start().await;
    fake.push([Reply::blocks(vec![Block::Refusal(reason.into())])]);
    let turn = Conversation::new(MODEL)
        .call(&*client(&fake))
        .await
        .unwrap();
    assert_eq!(
        (turn.parts, turn.stop),
        (Vec::new(), StopReason::Refusal(Some(reason.into())))
    );
}

#[tokio::test]
async fn a_silent_or_absent_server_is_unreachable() {
    let fake = FakeOpenAi::answering(|_| Reply::text("never whole").hang_after(2)).await;
    let retry = RetryPolicy {
        broken_attempts: 1,
        ..RetryPolicy::default()
    };
    let transport = Transport {
        idle_timeout: Duration::from_millis(100),
        retry,
        ..transport()
    };
    let client = make(ProviderKind::OpenAiCompatible, None, &fake.url(), transport);
    let error = Conversation::new(MODEL).call(&*client).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert!(error.message.contains("did not answer in time"), "{error}");
    fake.wait_for_disconnects(1).await;
    let vacant = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let client = make(
        ProviderKind::OpenAiCompatible,
        None,
        &format!("http://{vacant}/v1"),
        transport,
    );
    let error = Conversation::new(MODEL).call(&*client).await.unwrap_err();
    assert!(
        error
            .message
            .starts_with(&format!("{vacant}: cannot connect")),
        "{error}"
    );
}

#[tokio::test]
async fn cancellation_closes_the_connection() {
    for reply in [Reply::text("a long story").hang_after(2), Reply::silent()] {
        let fake = FakeOpenAi::start().await;
        fake.push([reply]);
        Conversation::new(MODEL)
            .call_and_stop(&*client(&fake), fake.wait_for_requests(1))
            .await;
        fake.wait_for_disconnects(1).await;
    }
}
