//! The Anthropic client: streaming, round trips, errors, retries, cancellation.

use std::time::Duration;

use ars_agent::{Part, StopReason, Usage};
use ars_bot_adapters::models::{ProviderKind, RetryPolicy, Transport};
use ars_bot_ports::ModelErrorKind;
use ars_testkit::{Block, FakeAnthropic, Reply};
use serde_json::{Value, json};

use crate::support::{Conversation, KEY, client as make, text_result, transport};

const MODEL: &str = "claude-sonnet-5-5";

fn client(fake: &FakeAnthropic) -> std::sync::Arc<dyn ars_bot_ports::ModelClient> {
    make(ProviderKind::Anthropic, Some(KEY), &fake.url(), transport())
}

#[tokio::test]
async fn prose_streams_before_the_complete_turn() {
    let fake = FakeAnthropic::start().await;
    fake.push([Reply::text(
        "A sentence that is longer than one piece of the stream: größer.",
    )]);
    let conversation = Conversation::new(MODEL);
    let turn = conversation.call(&*client(&fake)).await.unwrap();
    assert_eq!(
        conversation.streamed(),
        "A sentence that is longer than one piece of the stream: größer."
    );
    assert_eq!(turn.parts, [Part::text(conversation.streamed())]);
    assert_eq!(turn.stop, StopReason::EndTurn);
    let usage = Usage {
        input_tokens: 12,
        output_tokens: 7,
        cache_read_tokens: 3,
        cache_write_tokens: 5,
    };
    assert_eq!(turn.usage, usage);
    let request = fake.requests().remove(0);
    assert_eq!(
        (
            request.header("x-api-key"),
            request.header("anthropic-version")
        ),
        (KEY, "2023-06-01")
    );
    assert_eq!(
        (&request.body["stream"], &request.body["max_tokens"]),
        (&json!(true), &json!(64))
    );
}

#[tokio::test]
async fn reason_of_a_refusal_is_read() {
    let fake = FakeAnthropic::start().await;
    fake.push([Reply::blocks(vec![Block::Refusal("policy seven".into())])]);
    let turn = Conversation::new(MODEL)
        .call(&*client(&fake))
        .await
        .unwrap();
    assert_eq!(
        (turn.parts, turn.stop),
        (Vec::new(), StopReason::Refusal(Some("policy seven".into())))
    );
}

#[tokio::test]
async fn a_conversation_round_trips_every_block_verbatim() {
    let fake = FakeAnthropic::start().await;
    let server_tool = json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"z": 1, "a": 2}});
    let blocks = vec![
        Block::Thinking {
            text: "It is the parser that I should look at first.".into(),
            signature: "c2ln".into(),
        },
        Block::Raw(json!({"type": "redacted_thinking", "data": "b3BhcXVl"})),
        Block::Raw(server_tool.clone()),
        Block::Raw(json!({"type": "hologram", "zeta": [1, {"b": 2, "a": 1}], "alpha": null})),
        Block::Cited {
            text: "As the manual says.".into(),
            citation: json!({"type": "page_location", "page": 3}),
        },
        Block::Tool {
            name: "bash".into(),
            input: json!({"command": "cargo test"}),
        },
        Block::Tool {
            name: "bash".into(),
            input: json!({}),
        },
    ];
    fake.push([Reply::blocks(blocks), Reply::text("done")]);
    let mut conversation = Conversation::new(MODEL);
    let client = client(&fake);
    let turn = conversation.call(&*client).await.unwrap();
    assert_eq!(turn.stop, StopReason::ToolUse);
    conversation.answer_calls(&turn, &text_result("ok"));
    // The fake rejects modified thinking, and calls without their results.
    conversation.call(&*client).await.unwrap();
    let content = fake.requests()[1].body["messages"][1]["content"].clone();
    let sent: Vec<String> = content
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    assert_eq!(
        sent[0],
        r#"{"type":"thinking","thinking":"It is the parser that I should look at first.","signature":"c2ln"}"#
    );
    assert_eq!(sent[2], server_tool.to_string());
    assert_eq!(
        sent[3],
        r#"{"type":"hologram","zeta":[1,{"b":2,"a":1}],"alpha":null}"#
    );
    assert_eq!(
        content[4]["citations"],
        json!([{"type": "page_location", "page": 3}])
    );
    assert_eq!(content[5]["input"], json!({"command": "cargo test"}));
    assert_eq!(content[6]["input"], json!({}));
}

#[tokio::test]
async fn calls_share_one_connection() {
    let fake = FakeAnthropic::start().await;
    // The body ends later than the message.
    fake.push([
        Reply::text("one").every(Duration::from_millis(5)),
        Reply::text("two"),
    ]);
    let (conversation, client) = (Conversation::new(MODEL), client(&fake));
    conversation.call(&*client).await.unwrap();
    conversation.call(&*client).await.unwrap();
    let peers: Vec<_> = fake
        .requests()
        .into_iter()
        .map(|request| request.peer)
        .collect();
    assert_eq!(peers[0], peers[1]);
}

#[tokio::test]
async fn stored_conversation_is_sent_unchanged() {
    let fake = FakeAnthropic::start().await;
    let thinking = Block::Thinking {
        text: "hm".into(),
        signature: "s".into(),
    };
    let call = Block::Tool {
        name: "bash".into(),
        input: json!({"z": 1, "a": 2}),
    };
    fake.push([
        Reply::blocks(vec![thinking, call]),
        Reply::text("live"),
        Reply::text("stored"),
    ]);
    let mut conversation = Conversation::new(MODEL);
    let client = client(&fake);
    let turn = conversation.call(&*client).await.unwrap();
    conversation.answer_calls(&turn, &text_result("ok"));
    conversation.call(&*client).await.unwrap();
    let stored = serde_json::to_string(&conversation.turns).unwrap();
    conversation.turns = serde_json::from_str(&stored).unwrap();
    conversation.call(&*client).await.unwrap();
    let requests = fake.requests();
    assert_eq!(requests[1].body.to_string(), requests[2].body.to_string());
}

#[tokio::test]
async fn broken_arguments_do_not_end_the_conversation() {
    let fake = FakeAnthropic::start().await;
    let broken = Block::RawTool {
        name: "bash".into(),
        arguments: "{\"comm".into(),
    };
    fake.push([
        Reply::blocks(vec![broken]).stop("max_tokens"),
        Reply::text("sorry"),
    ]);
    let mut conversation = Conversation::new(MODEL);
    let client = client(&fake);
    let turn = conversation.call(&*client).await.unwrap();
    assert!(
        matches!(&turn.parts[0], Part::ToolCall { input: Value::String(text), .. } if text == "{\"comm")
    );
    assert_eq!(turn.stop, StopReason::MaxTokens);
    conversation.answer_calls(&turn, &text_result("not JSON"));
    conversation.call(&*client).await.unwrap();
}

#[tokio::test]
async fn a_closing_call_describes_tools_but_forbids_them() {
    let fake = FakeAnthropic::start().await;
    fake.push([Reply::text("so far")]);
    let conversation = Conversation {
        may_call_tools: false,
        ..Conversation::new(MODEL)
    };
    conversation.call(&*client(&fake)).await.unwrap();
    let body = fake.requests().remove(0).body;
    assert_eq!(
        (&body["tool_choice"], &body["tools"][0]["name"]),
        (&json!({"type": "none"}), &json!("bash"))
    );
}

#[tokio::test]
async fn overload_is_retried_after_the_requested_wait() {
    let fake = FakeAnthropic::start().await;
    let past = "Wed, 21 Oct 2015 07:28:00 GMT";
    fake.push([
        Reply::error(529, "overloaded_error", "Overloaded").header("retry-after", "0.02"),
        Reply::error(429, "rate_limit_error", "slow down").header("retry-after", past),
        Reply::text("partial prose that will be said twice").fail_after(
            4,
            "overloaded_error",
            "Overloaded",
        ),
        Reply::text("done"),
    ]);
    let conversation = Conversation::new(MODEL);
    let turn = conversation.call(&*client(&fake)).await.unwrap();
    assert_eq!(turn.parts, [Part::text("done")]);
    let waits = conversation.waits();
    assert_eq!(waits[..2], [Duration::from_millis(20), Duration::ZERO]);
    assert_eq!(waits.len(), 3);
    assert!(conversation.streamed().starts_with("partial prose"));
}

#[tokio::test]
async fn last_error_is_reported_after_all_attempts() {
    let fake =
        FakeAnthropic::answering(|_| Reply::error(529, "overloaded_error", "Overloaded")).await;
    let error = Conversation::new(MODEL)
        .call(&*client(&fake))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Overloaded { retry_after: None });
    assert_eq!(error.message, "the provider answered 529: Overloaded");
    assert_eq!(fake.request_count(), 5);
}

#[tokio::test]
async fn excessive_requested_wait_fails_at_once() {
    let fake = FakeAnthropic::start().await;
    fake.push([Reply::error(429, "rate_limit_error", "tomorrow").header("retry-after", "86400")]);
    let error = Conversation::new(MODEL)
        .call(&*client(&fake))
        .await
        .unwrap_err();
    assert_eq!(
        error.kind,
        ModelErrorKind::RateLimited {
            retry_after: Some(Duration::from_secs(86_400))
        }
    );
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    let cases = [
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            ModelErrorKind::Unauthorized,
        ),
        (
            403,
            "permission_error",
            "not allowed",
            ModelErrorKind::Unauthorized,
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 300 > 200",
            ModelErrorKind::ContextTooLong,
        ),
        (
            400,
            "invalid_request_error",
            "tools: bad",
            ModelErrorKind::Invalid,
        ),
        (
            400,
            "invalid_request_error",
            "messages.2.content.0: Could not process image",
            ModelErrorKind::FileRejected,
        ),
        (
            404,
            "not_found_error",
            "model: nope",
            ModelErrorKind::Invalid,
        ),
    ];
    for (status, kind, message, expected) in cases {
        let fake = FakeAnthropic::start().await;
        fake.push([Reply::error(status, kind, format!("{message} {KEY}"))]);
        let error = Conversation::new(MODEL)
            .call(&*client(&fake))
            .await
            .unwrap_err();
        assert_eq!(error.kind, expected);
        assert!(!error.to_string().contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn interrupted_stream_is_retried() {
    let fake = FakeAnthropic::start().await;
    fake.push([
        Reply::text("cut").cut_after(4),
        Reply::text("ended").end_after(4),
        Reply::text("whole"),
    ]);
    let conversation = Conversation::new(MODEL);
    let turn = conversation.call(&*client(&fake)).await.unwrap();
    assert_eq!(turn.parts, [Part::text("whole")]);
    assert_eq!(conversation.waits().len(), 2);
    let fake = FakeAnthropic::answering(|_| Reply::text("ended").end_after(4)).await;
    let error = Conversation::new(MODEL)
        .call(&*client(&fake))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, fake.request_count()),
        (ModelErrorKind::Protocol, 3)
    );
}

#[tokio::test]
async fn a_silent_provider_times_out() {
    let fake = FakeAnthropic::answering(|_| Reply::text("never whole").hang_after(3)).await;
    let retry = RetryPolicy {
        broken_attempts: 1,
        ..RetryPolicy::default()
    };
    let transport = Transport {
        idle_timeout: Duration::from_millis(100),
        retry,
        ..transport()
    };
    let client = make(ProviderKind::Anthropic, Some(KEY), &fake.url(), transport);
    let error = Conversation::new(MODEL).call(&*client).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert!(error.message.contains("did not answer in time"), "{error}");
    fake.wait_for_disconnects(1).await;
}

#[tokio::test]
async fn an_unreachable_provider_is_told_by_its_host() {
    let vacant = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let client = make(
        ProviderKind::Anthropic,
        Some(KEY),
        &format!("http://{vacant}"),
        transport(),
    );
    let conversation = Conversation::new(MODEL);
    let error = conversation.call(&*client).await.unwrap_err();
    assert_eq!(
        (error.kind.clone(), conversation.waits().len()),
        (ModelErrorKind::Unreachable, 2)
    );
    assert!(
        error
            .message
            .starts_with(&format!("{vacant}: cannot connect")),
        "{error}"
    );
}

#[tokio::test]
async fn cancellation_closes_the_connection() {
    for reply in [Reply::text("a long story").hang_after(4), Reply::silent()] {
        let fake = FakeAnthropic::start().await;
        fake.push([reply]);
        Conversation::new(MODEL)
            .call_and_stop(&*client(&fake), fake.wait_for_requests(1))
            .await;
        fake.wait_for_disconnects(1).await;
    }
}

#[tokio::test]
async fn waiting_for_the_next_attempt_can_be_cancelled() {
    let fake = FakeAnthropic::start().await;
    fake.push([Reply::error(429, "rate_limit_error", "later").header("retry-after", "100")]);
    let conversation = Conversation::new(MODEL);
    let waits = async {
        while conversation.waits().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    conversation.call_and_stop(&*client(&fake), waits).await;
    assert_eq!(conversation.waits(), [Duration::from_secs(100)]);
}

#[tokio::test]
async fn base_url_may_include_the_version() {
    let fake = FakeAnthropic::start().await;
    for suffix in ["", "/", "/v1", "/v1/"] {
        fake.push([Reply::text("ok")]);
        let url = format!("{}{suffix}", fake.url());
        let client = make(ProviderKind::Anthropic, Some(KEY), &url, transport());
        Conversation::new(MODEL).call(&*client).await.unwrap();
    }
    let keyless = make(ProviderKind::Anthropic, None, &fake.url(), transport());
    assert_eq!(
        Conversation::new(MODEL)
            .call(&*keyless)
            .await
            .unwrap_err()
            .kind,
        ModelErrorKind::Invalid
    );
    assert_eq!(fake.take_violations(), ["x-api-key: header is required"]);
    assert_eq!(fake.requests().last().unwrap().header("x-api-key"), "");
}
