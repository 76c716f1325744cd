//! Requests to the ingress with an `Idempotency-Key`.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::{Arc, atomic::Ordering};

use ars_bot_core::{load_limits::LoadLimits, settings::Settings};
use ars_bot_http::Dashboard;
use ars_bot_ports::{Channel, Channels, StoreErrorKind};
use ars_types::RunId;
use ars_wire::ledger::LiveRun;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    scripted_ledger::{Fault, ScriptedLedger},
    support::{Bot, TOKENS},
    wire::TIMEOUT,
};

/// A token that may also call `help.show`.
const HELPED: &str = r#"{"good": {"subject": "ann", "scopes": ["dispatch", "help:read"]}}"#;

struct NoChannels;

impl Channels for NoChannels {
    fn reopen(&self, _run: &LiveRun) -> Option<Arc<dyn Channel>> {
        None
    }
}

/// Starts a bot that stands for the process `generation` and shares this ledger.
async fn process(ledger: &Arc<ScriptedLedger>, generation: &str) -> Bot {
    let capabilities = ledger.capability(generation, Arc::new(NoChannels));
    Bot::with_capabilities(
        Dashboard::default(),
        TOKENS,
        Settings::default(),
        capabilities,
    )
    .await
}

fn request(bot: &Bot, token: &str, key: &str, body: &Value) -> RequestBuilder {
    let request = Client::new()
        .post(bot.url("/ingress"))
        .bearer_auth(token)
        .body(body.to_string());
    request.header("idempotency-key", key)
}

async fn ask(bot: &Bot, token: &str, key: &str, body: &Value) -> (u16, Value) {
    let response = timeout(TIMEOUT, request(bot, token, key, body).send())
        .await
        .unwrap()
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn malformed_key_is_named_before_the_body() {
    let bot = Bot::start().await;
    let expected =
        json!({"error": "Idempotency-Key must be one value of 1 to 255 visible ASCII characters"});
    for key in ["", "a b", "é", &"x".repeat(256)] {
        assert_eq!(
            ask(&bot, "good", key, &json!({"text": 7})).await,
            (400, expected.clone()),
            "{key}"
        );
    }
    let twice = request(&bot, "good", "a", &json!({"text": "x"})).header("idempotency-key", "a");
    assert_eq!(twice.send().await.unwrap().status(), 400);
    // The gate checks the scope before the key.
    assert_eq!(ask(&bot, "reader", "a b", &json!({})).await.0, 403);
}

#[tokio::test]
async fn repeated_key_gets_the_first_answer() {
    let bot = Bot::start().await;
    bot.script(&["first", "second", "third"]);
    let body = json!({"text": "x"});
    let first = ask(&bot, "good", "k", &body).await;
    assert_eq!((first.0, &first.1["reply"]), (200, &json!("first")));
    assert_eq!(ask(&bot, "good", "k", &body).await, first);
    let reused =
        json!({"error": "Idempotency-Key was used by an earlier request with another body"});
    assert_eq!(
        ask(&bot, "good", "k", &json!({"text": "y"})).await,
        (422, reused)
    );
    // Other subjects' keys, and requests without a key, are independent.
    assert_eq!(ask(&bot, "pinned", "k", &body).await.1["reply"], "second");
    assert_eq!(ask(&bot, "good", "other", &body).await.1["reply"], "third");
}

/// The process keeps 1,000 answers, and a command has no record to answer from.
#[tokio::test]
async fn request_with_an_evicted_answer_is_not_repeated() {
    let load = LoadLimits {
        requests_per_minute: None,
        ..LoadLimits::default()
    };
    let bot = Bot::start_with(
        HELPED,
        Settings {
            load,
            ..Settings::default()
        },
    )
    .await;
    let body = json!({"text": "help"});
    for number in 0..=1_000 {
        assert_eq!(ask(&bot, "good", &number.to_string(), &body).await.0, 200);
    }
    assert_eq!(ask(&bot, "good", "1", &body).await.0, 200);
    let evicted =
        json!({"error": "Idempotency-Key names a request whose answer is no longer kept"});
    assert_eq!(ask(&bot, "good", "0", &body).await, (409, evicted));
    assert_eq!(
        ask(&bot, "good", "0", &json!({"text": "help show"}))
            .await
            .0,
        422
    );
}

#[tokio::test]
async fn concurrent_requests_share_one_run() {
    let bot = Bot::start().await;
    bot.model.gated.store(true, Ordering::Relaxed);
    bot.script(&["shared"]);
    let body = json!({"text": "x"});
    let first = tokio::spawn(request(&bot, "good", "k", &body).send());
    timeout(TIMEOUT, bot.model.called.notified()).await.unwrap();
    // The first request's caller disconnects.
    first.abort();
    let second = tokio::spawn(request(&bot, "good", "k", &body).send());
    assert_eq!(ask(&bot, "good", "k", &json!({"text": "y"})).await.0, 422);
    bot.model.gate.notify_one();
    let answer: Value = second.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(answer["reply"], "shared");
    assert_eq!(ask(&bot, "good", "k", &body).await.1, answer);
    assert_eq!(bot.model.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn async_requests_get_the_same_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (bot, other) = (process(&ledger, "g1").await, process(&ledger, "g2").await);
    bot.model.gated.store(true, Ordering::Relaxed);
    bot.script(&["later"]);
    let body = json!({"text": "x", "async": true});
    let first = ask(&bot, "good", "k", &body).await;
    assert_eq!(first.0, 202);
    // Also from another process, while the run is live.
    assert_eq!(ask(&bot, "good", "k", &body).await, first);
    assert_eq!(ask(&other, "good", "k", &body).await, first);
    bot.model.gate.notify_one();
    ledger.recorded().await;
    assert_eq!(ask(&bot, "good", "k", &body).await, first);
    assert_eq!(ask(&other, "good", "k", &json!({"text": "x"})).await.0, 422);
    assert_eq!(bot.model.asked.lock().unwrap().len(), 1);
}

/// The preference is no part of the body, so repeating without it waits for the answer.
#[tokio::test]
async fn preferred_early_answer_is_repeated_with_the_reply() {
    let bot = Bot::start().await;
    bot.script(&["later"]);
    let body = json!({"text": "x"});
    let early = request(&bot, "good", "k", &body).header("prefer", "wait=5, Respond-Async");
    let early = timeout(TIMEOUT, early.send()).await.unwrap().unwrap();
    assert_eq!(early.status().as_u16(), 202);
    let run = early.json::<Value>().await.unwrap()["runId"].clone();
    let (status, answer) = ask(&bot, "good", "k", &body).await;
    assert_eq!(
        (status, &answer["reply"], &answer["run"]["id"]),
        (200, &json!("later"), &run)
    );
}

#[tokio::test]
async fn another_process_answers_from_the_record() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (bot, other) = (process(&ledger, "g1").await, process(&ledger, "g2").await);
    bot.model.gated.store(true, Ordering::Relaxed);
    bot.script(&["kept"]);
    let body = json!({"text": "x"});
    let first = tokio::spawn(request(&bot, "good", "k", &body).send());
    timeout(TIMEOUT, bot.model.called.notified()).await.unwrap();
    // The second process waits until the first process's run ends.
    let waiting = tokio::spawn(request(&other, "good", "k", &body).send());
    ledger.until(|ledger| ledger.count("live") > 0).await;
    bot.model.gate.notify_one();
    let first: Value = first.await.unwrap().unwrap().json().await.unwrap();
    other.store.insert(ledger.recorded().await);
    // The second process's listing of live runs expires.
    other.clock.advance(10_000);
    let waited = timeout(TIMEOUT, waiting).await.unwrap().unwrap().unwrap();
    assert_eq!(
        (waited.status().as_u16(), waited.json().await.unwrap()),
        (200, first.clone())
    );
    assert_eq!(ask(&other, "good", "k", &body).await, (200, first));
    other.store.records.lock().unwrap().clear();
    let gone = json!({"error": "Idempotency-Key names a request whose answer is no longer kept"});
    assert_eq!(ask(&other, "good", "k", &body).await, (409, gone));
}

#[tokio::test]
async fn unchecked_key_is_not_dispatched() {
    let ledger = Arc::new(ScriptedLedger::default());
    let bot = process(&ledger, "g1").await;
    bot.script(&["after all"]);
    ledger.script("first_use", [Fault::Fail(StoreErrorKind::Permanent)]);
    let body = json!({"text": "x"});
    let response = request(&bot, "good", "k", &body).send().await.unwrap();
    assert_eq!(
        (
            response.status().as_u16(),
            &response.headers()["retry-after"]
        ),
        (503, &"5".parse().unwrap())
    );
    assert!(ledger.runs().is_empty());
    let (status, answer) = ask(&bot, "good", "k", &body).await;
    assert_eq!((status, &answer["reply"]), (200, &json!("after all")));
    let id = RunId::parse(answer["run"]["id"].as_str().unwrap()).unwrap();
    assert_eq!(
        ledger
            .keys
            .lock()
            .unwrap()
            .values()
            .map(|first| &first.run_id)
            .collect::<Vec<_>>(),
        [&id]
    );
}

#[tokio::test]
async fn rejected_request_frees_its_key() {
    let bot = Bot::start().await;
    bot.script(&["now"]);
    let rejected = ask(&bot, "good", "k", &json!({"text": "agent:nobody x"})).await;
    assert_eq!((rejected.0, rejected.1.get("run")), (200, None));
    let answered = ask(&bot, "good", "k", &json!({"text": "x"})).await;
    assert_eq!(answered.1["reply"], "now");
    let denied = ask(&bot, "good", "h", &json!({"text": "status show"})).await;
    assert_eq!((denied.0, denied.1.get("run")), (200, None));
    // After a drain a kept answer is still given, and a freed key is rejected like a new one.
    assert!(bot.core.drain(TIMEOUT).await);
    assert_eq!(
        ask(&bot, "good", "k", &json!({"text": "x"})).await,
        answered
    );
    assert_eq!(
        ask(&bot, "good", "h", &json!({"text": "status show"}))
            .await
            .0,
        503
    );
    assert_eq!(ask(&bot, "good", "new", &json!({"text": "x"})).await.0, 503);
    assert_eq!(ask(&bot, "good", "new", &json!({"text": "x"})).await.0, 503);
}
