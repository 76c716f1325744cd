//! The ingress, from the caller's side.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::{sync::Arc, time::Duration};

use ars_auth::Grants;
use ars_bot_core::settings::Settings;
use ars_bot_http::Dashboard;
use ars_types::{RunId, RunStatus};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    remote_runs::NoChannels,
    scripted_ledger::ScriptedLedger,
    support::{Bot, TOKENS, public},
    wire::{TIMEOUT, exchange, rest},
};

async fn post(bot: &Bot, token: &str, body: impl Into<reqwest::Body>) -> Response {
    Client::new()
        .post(bot.url("/ingress"))
        .bearer_auth(token)
        .body(body)
        .send()
        .await
        .unwrap()
}

async fn told(response: Response) -> (u16, Value) {
    assert_eq!(response.headers()["content-type"], "application/json");
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn refusals_have_the_bodies_of_the_specification() {
    let (bot, closed) = (
        Bot::start().await,
        Bot::start_with("", Settings::default()).await,
    );
    let ask = json!({"text": "x"}).to_string();
    let disabled = told(post(&closed, "good", ask.clone()).await).await;
    assert_eq!(
        (disabled.0, &disabled.1["error"]),
        (503, &json!("disabled"))
    );
    for token in ["nope", "goo", "goodd"] {
        assert_eq!(
            told(post(&bot, token, ask.clone()).await).await,
            (401, json!({"error": "unauthorized"}))
        );
    }
    let forbidden = told(post(&bot, "reader", ask.clone()).await).await;
    assert_eq!(
        forbidden,
        (403, json!({"error": "forbidden", "code": "unauthorized"}))
    );
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let response = Client::new()
            .request(method.clone(), closed.url("/ingress"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.headers()["allow"], "POST");
        assert_eq!(
            response.status(),
            StatusCode::METHOD_NOT_ALLOWED,
            "{method}"
        );
    }
    let bad = told(post(&bot, "good", json!({"text": 7}).to_string()).await).await;
    assert_eq!(
        bad,
        (400, json!({"error": "text must be a non-blank string"}))
    );
    assert!(bot.model.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_caller_s_trace_is_ignored() {
    let bot = Bot::start().await;
    bot.script(&["forty-two"]);
    let theirs = "0af7651916cd43dd8448eb211c80319c";
    let request = Client::new().post(bot.url("/ingress")).bearer_auth("good");
    let request = request
        .header("traceparent", format!("00-{theirs}-b7ad6b7169203331-01"))
        .header("tracestate", format!("vendor={theirs}"))
        .header("baggage", format!("id={theirs}"));
    let (status, answer) = told(
        request
            .body(json!({"text": "x"}).to_string())
            .send()
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(status, 200);
    let id = RunId::parse(answer["run"]["id"].as_str().unwrap()).unwrap();
    let run = bot.core.registry().get(&id).unwrap();
    let traces = run.events.iter().filter(|event| event.contains("traceId"));
    assert_eq!(traces.clone().count(), 1, "the run has a trace of its own");
    assert!(
        !run.events.iter().any(|event| event.contains(theirs)),
        "{:?}",
        run.events
    );
}

#[tokio::test]
async fn request_gets_reply_and_receipt() {
    let bot = Bot::start().await;
    bot.script(&["forty-two"]);
    let body = json!({"text": " what is it? ", "history": [
        {"role": "user", "text": "earlier"}, {"role": "assistant", "text": "yes"}]});
    let (status, answer) = told(post(&bot, "good", body.to_string()).await).await;
    assert_eq!(
        (status, &answer["reply"], &answer["run"]["status"]),
        (200, &json!("forty-two"), &json!("completed"))
    );
    let id = RunId::parse(answer["run"]["id"].as_str().unwrap()).unwrap();
    let run = bot.core.registry().get(&id).unwrap();
    assert_eq!(
        (run.facts.user_id.as_str(), run.facts.channel_id.as_str()),
        ("http:ann", "http:default")
    );
    assert!(!answer.to_string().contains(&run.token));
    assert!(bot.model.asked.lock().unwrap()[0].contains("earlier"));
}

#[tokio::test]
async fn failed_run_answers_200_with_status() {
    let bot = Bot::start().await;
    let (status, answer) = told(post(&bot, "good", json!({"text": "x"}).to_string()).await).await;
    assert_eq!((status, &answer["run"]["status"]), (200, &json!("failed")));
    assert!(!answer["reply"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn reply_without_run_has_no_receipt() {
    let bot = Bot::start().await;
    for is_async in [false, true] {
        let body = json!({"text": "agent:nobody hello", "async": is_async});
        let (status, answer) = told(post(&bot, "good", body.to_string()).await).await;
        assert_eq!((status, answer.get("run")), (200, None));
        assert!(answer["reply"].as_str().unwrap().contains("agent"));
        assert_eq!(
            answer["code"], "invalid_input",
            "a script cannot read the text"
        );
    }
}

#[tokio::test]
async fn ambiguous_and_long_names_are_named_in_a_400() {
    let bot = Bot::start().await;
    let long = "x".repeat(129);
    for (field, value) in [
        ("channel", "a:b"),
        ("channel", &long),
        ("thread", &long),
        ("thread", ""),
    ] {
        for token in ["good", "pinned"] {
            let mut body = json!({"text": "x"});
            body[field] = json!(value);
            let (status, answer) = told(post(&bot, token, body.to_string()).await).await;
            assert_eq!(status, 400, "{field}");
            assert!(
                answer["error"]
                    .as_str()
                    .unwrap()
                    .starts_with(&format!("{field} must be")),
                "{answer}"
            );
        }
    }
}

#[tokio::test]
async fn async_request_answers_at_run_creation() {
    let bot = Bot::start_with(TOKENS, public()).await;
    bot.model
        .gated
        .store(true, std::sync::atomic::Ordering::Relaxed);
    bot.script(&["later"]);
    let body = json!({"text": "x", "channel": "ignored", "thread": "t1", "async": true});
    let (status, answer) = told(post(&bot, "pinned", body.to_string()).await).await;
    let id = RunId::parse(answer["runId"].as_str().unwrap()).unwrap();
    let expected = json!({"runId": id, "runUrl": format!("https://bot.example.com/runs/{id}"), "threadKey": "http:ci:t1"});
    assert_eq!((status, answer), (202, expected));
    assert_eq!(bot.core.registry().get(&id).unwrap().finished, None);
    bot.model.gate.notify_one();
    assert!(bot.core.drain(TIMEOUT).await);
    assert_eq!(
        bot.store.records.lock().unwrap()[id.as_str()].status,
        RunStatus::Completed
    );
}

#[tokio::test]
async fn handed_off_run_answers_its_waiting_caller() {
    let ledger = Arc::new(ScriptedLedger::default());
    let capabilities = ledger.capability("this", Arc::new(NoChannels));
    let bot = Bot::with_capabilities(Dashboard::default(), TOKENS, public(), capabilities).await;
    bot.model
        .gated
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let handed_off = async {
        bot.model.called.notified().await;
        assert!(bot.core.drain(TIMEOUT).await);
    };
    let body = json!({"text": "x"}).to_string();
    let (response, ()) = tokio::join!(post(&bot, "good", body), handed_off);
    let (status, body) = told(response).await;
    let id = ledger.runs().keys().next().unwrap().clone();
    let reply = format!(
        "⏳ The run continues in another process. See its page for the answer: https://bot.example.com/runs/{id}"
    );
    assert_eq!((status, body), (200, json!({"reply": reply, "runId": id})));
}

#[tokio::test]
async fn drain_rejects_with_retry_after() {
    let bot = Bot::start().await;
    assert!(bot.core.drain(TIMEOUT).await);
    for is_async in [false, true] {
        let response = post(
            &bot,
            "good",
            json!({"text": "x", "async": is_async}).to_string(),
        )
        .await;
        assert_eq!(response.headers()["retry-after"], "5");
        let (status, body) = told(response).await;
        assert_eq!(
            (status, &body["error"], &body["code"]),
            (503, &json!("unavailable"), &json!("unavailable"))
        );
        assert!(
            body["detail"].as_str().unwrap().contains("did not start"),
            "{body}"
        );
    }
    assert!(bot.core.registry().list().is_empty() && bot.store.records.lock().unwrap().is_empty());
    assert_eq!(bot.core.load().in_flight, 0);
    // Malformed requests get their own error during a drain.
    let ask = json!({"text": "x"}).to_string();
    for (token, body, status) in [
        ("nope", ask.clone(), 401),
        ("reader", ask, 403),
        ("good", "{}".into(), 400),
    ] {
        assert_eq!(post(&bot, token, body).await.status(), status);
    }
}

#[tokio::test]
async fn disconnect_does_not_stop_the_run() {
    let bot = Bot::start().await;
    bot.model
        .gated
        .store(true, std::sync::atomic::Ordering::Relaxed);
    bot.script(&["said to nobody"]);
    let mut stream = TcpStream::connect(bot.address).await.unwrap();
    let body = json!({"text": "x"}).to_string();
    let head = format!(
        "POST /ingress HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    timeout(TIMEOUT, bot.model.called.notified()).await.unwrap();
    drop(stream);
    bot.model.gate.notify_one();
    assert!(bot.core.drain(TIMEOUT).await);
    let records = bot.store.records.lock().unwrap();
    assert_eq!(
        records
            .values()
            .map(|record| record.status)
            .collect::<Vec<_>>(),
        [RunStatus::Completed]
    );
}

#[tokio::test]
async fn panicking_dispatch_answers_500_without_details() {
    let bot = Bot::start().await;
    let body = json!({"text": "model:panic/now hello"});
    let (status, answer) = told(post(&bot, "good", body.to_string()).await).await;
    assert_eq!((status, answer), (500, json!({"error": "internal error"})));
}

#[tokio::test]
async fn grants_do_not_replace_dispatch_scope() {
    let grants = [(
        "http:bo".to_owned(),
        Grants {
            actions: ars_auth::Set::All,
            ..Grants::default()
        },
    )];
    let settings = Settings {
        grants: grants.into(),
        ..Settings::default()
    };
    let bot = Bot::start_with(TOKENS, settings).await;
    assert_eq!(
        post(&bot, "reader", json!({"text": "x"}).to_string())
            .await
            .status(),
        403
    );
}

fn sized(bytes: usize) -> String {
    let frame = json!({"text": ""}).to_string().len();
    json!({"text": "x".repeat(bytes - frame)}).to_string()
}

#[tokio::test]
async fn body_limit_is_inclusive() {
    let bot = Bot::start().await;
    bot.script(&["read it"]);
    assert_eq!(post(&bot, "good", sized(1_000_000)).await.status(), 200);
    let response = post(&bot, "good", sized(1_000_001)).await;
    assert_eq!(response.headers()["connection"], "close");
    let (status, answer) = told(response).await;
    assert_eq!(status, 413);
    assert!(answer["error"].is_string() && answer.get("code").is_none());
}

#[tokio::test]
async fn declared_oversize_is_rejected_unread() {
    let bot = Bot::start().await;
    let head = "POST /ingress HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-length: 1000001\r\n\r\n";
    assert!(
        exchange(&bot, head.as_bytes())
            .await
            .starts_with("HTTP/1.1 413 ")
    );
}

#[tokio::test]
async fn unauthorized_upload_is_rejected_unread() {
    let bot = Bot::start().await;
    for (authorization, status) in [
        ("", "401"),
        ("authorization: Bearer nope\r\n", "401"),
        ("authorization: Bearer reader\r\n", "403"),
    ] {
        // With `Expect` a server announces whether it wants the body: it must not.
        let head = format!(
            "POST /ingress HTTP/1.1\r\nhost: x\r\n{authorization}expect: 100-continue\r\ncontent-length: 900000\r\n\r\n"
        );
        let answer = exchange(&bot, head.as_bytes()).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn endless_chunked_body_gets_413() {
    let bot = Bot::start().await;
    let stream = TcpStream::connect(bot.address).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let uploading = tokio::spawn(async move {
        let head = "POST /ingress HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ntransfer-encoding: chunked\r\n\r\n";
        write.write_all(head.as_bytes()).await.unwrap();
        let chunk = format!("2000\r\n{}\r\n", "x".repeat(0x2000));
        let mut sent = 0_usize;
        while write.write_all(chunk.as_bytes()).await.is_ok() {
            sent += 0x2000;
        }
        sent
    });
    let mut answer = [0; 12];
    timeout(TIMEOUT, read.read_exact(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    let sent = timeout(TIMEOUT, uploading).await.unwrap().unwrap();
    // Kernel buffers on both sides hold some unread bytes, but not the rest of the upload.
    assert!(sent < 20_000_000, "{sent} bytes were taken");
}

#[tokio::test]
async fn rejected_upload_is_blocked_not_reset() {
    let bot = Bot::start().await;
    let mut stream = TcpStream::connect(bot.address).await.unwrap();
    let head = "POST /ingress HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut read, mut write) = stream.split();
    let chunk = format!("2000\r\n{}\r\n", "x".repeat(0x2000));
    let sending = async { while write.write_all(chunk.as_bytes()).await.is_ok() {} };
    assert!(
        timeout(Duration::from_millis(300), sending).await.is_err(),
        "the connection was reset"
    );
    let mut answer = [0; 12];
    timeout(TIMEOUT, read.read_exact(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
}

#[tokio::test]
async fn broken_framing_is_rejected() {
    let bot = Bot::start().await;
    let head = "POST /ingress HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\n";
    for framing in [
        "transfer-encoding: chunked\r\n\r\nzz\r\n",
        "content-length: 5\r\ncontent-length: 6\r\n\r\n{}",
        "content-length: nine\r\n\r\n{}",
        "transfer-encoding: gzip\r\n\r\n{}",
    ] {
        let mut stream = TcpStream::connect(bot.address).await.unwrap();
        stream
            .write_all(format!("{head}{framing}").as_bytes())
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
            "{framing:?}: {answer}"
        );
    }
    assert!(bot.model.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn any_content_type_is_accepted() {
    let bot = Bot::start().await;
    bot.script(&["fine"]);
    let request = Client::new()
        .post(bot.url("/ingress"))
        .header("authorization", "bEARER \t good ");
    let response = request
        .header("content-type", "text/plain")
        .body(r#"{"text":"x"}"#)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
}

/// `op` may dispatch and invoke some commands.
const OPERATOR: &str =
    r#"{"op": {"subject": "op", "scopes": ["dispatch", "config:read", "friction:read"]}}"#;

#[tokio::test]
async fn command_is_answered_without_a_run() {
    let bot = Bot::start_with(OPERATOR, Settings::default()).await;
    for (text, reply, code) in [
        ("config show", "In effect here: ", Value::Null),
        (
            "config show --bogus",
            "⚠️ `config show`: ",
            json!("invalid_input"),
        ),
        (
            "friction report \"open",
            "⚠️ `friction report`: ",
            json!("invalid_input"),
        ),
        ("help", "Agents:\n", Value::Null),
        ("status show", "⛔ `status show`: ", json!("unauthorized")),
    ] {
        for is_async in [false, true] {
            let body = json!({"text": text, "async": is_async});
            let (status, answer) = told(post(&bot, "op", body.to_string()).await).await;
            assert_eq!((status, answer.get("run")), (200, None), "{text}");
            assert!(
                answer["reply"].as_str().unwrap().starts_with(reply),
                "{answer}"
            );
            assert_eq!(answer["code"], code, "{text}");
        }
    }
    assert!(bot.model.asked.lock().unwrap().is_empty() && bot.core.registry().list().is_empty());
}

#[tokio::test]
async fn run_of_a_command_is_named() {
    let bot = Bot::start_with(OPERATOR, Settings::default()).await;
    let ask = |is_async| json!({"text": "friction report", "async": is_async}).to_string();
    let (status, answer) = told(post(&bot, "op", ask(false)).await).await;
    assert_eq!(
        (status, &answer["run"]["status"]),
        (200, &json!("completed"))
    );
    let id = RunId::parse(answer["run"]["id"].as_str().unwrap()).unwrap();
    let run = bot.core.registry().get(&id).unwrap();
    assert_eq!(
        (run.facts.agent.as_str(), &run.facts.model),
        ("command", &None)
    );
    assert!(!answer.to_string().contains(&run.token));
    let (status, answer) = told(post(&bot, "op", ask(true)).await).await;
    assert_eq!(
        (status, &answer["threadKey"]),
        (202, &json!("http:default:default"))
    );
    assert!(bot.core.drain(TIMEOUT).await);
    assert_eq!(bot.store.records.lock().unwrap().len(), 2);
    assert!(bot.model.asked.lock().unwrap().is_empty());
}
