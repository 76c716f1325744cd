//! Request and run limits, as callers see them.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::Ordering;

use ars_auth::{Grants, Set};
use ars_bot_core::{load_limits::LoadLimits, settings::Settings};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::support::Bot;

/// `phone` is another account of the person with `good`.
const TOKENS: &str = r#"{
    "good": {"subject": "ann"},
    "phone": {"subject": "ann-phone"},
    "pinned": {"subject": "bot", "channel": "ci"},
    "reader": {"subject": "bo", "scopes": ["runs:read"]}
}"#;

async fn bot(load: LoadLimits) -> Bot {
    let grants = Grants {
        actions: Set::only(&["runs:write"]),
        ..Grants::default()
    };
    let grants = [("access:loopback".to_owned(), grants)].into();
    let mut settings = Settings {
        load,
        grants,
        ..Settings::default()
    };
    let accounts = ["http:ann", "http:ann-phone"];
    settings.people.add(&accounts).unwrap();
    Bot::start_with(TOKENS, settings).await
}

async fn post(bot: &Bot, path: &str, token: &str, body: &Value) -> Response {
    Client::new()
        .post(bot.url(path))
        .bearer_auth(token)
        .json(body)
        .send()
        .await
        .unwrap()
}

async fn refusal(response: Response) -> (u16, String, Value) {
    let retry_after = response.headers()["retry-after"]
        .to_str()
        .unwrap()
        .to_owned();
    (
        response.status().as_u16(),
        retry_after,
        response.json().await.unwrap(),
    )
}

#[tokio::test]
async fn rate_of_a_token_is_limited() {
    let bot = bot(LoadLimits {
        requests_per_minute: Some(2),
        ..LoadLimits::default()
    })
    .await;
    let ask = |token| post(&bot, "/ingress", token, &Value::Null);
    // The rate precedes the body, and the scope precedes the rate.
    assert_eq!(ask("good").await.status(), 400);
    assert_eq!(ask("good").await.status(), 400);
    let (status, wait, body) = refusal(ask("good").await).await;
    let expected = json!({
        "error": format!("the limit of 2 requests a minute is reached; try again in {wait} s"),
        "code": "rate_limited",
    });
    // The bucket refills while the test runs.
    assert!((1..=30).contains(&wait.parse::<u32>().unwrap()), "{wait}");
    assert_eq!((status, body), (429, expected));
    assert_eq!(ask("phone").await.status(), 429);
    assert_eq!(ask("reader").await.status(), 403);
    assert_eq!(ask("pinned").await.status(), 400);

    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "dispatch", "arguments": { "text": "x" } } });
    let answer = post(&bot, "/mcp", "good", &call).await;
    assert_eq!(answer.status(), 200);
    let error = answer.json::<Value>().await.unwrap()["error"].clone();
    assert_eq!(
        (&error["code"], &error["data"]["code"]),
        (&json!(-32005), &json!("rate_limited"))
    );
}

#[tokio::test]
async fn rate_of_writes_is_limited() {
    let bot = bot(LoadLimits {
        requests_per_minute: Some(1),
        ..LoadLimits::default()
    })
    .await;
    let stop = json!({ "id": "r1", "mode": "soft" });
    let first = post(&bot, "/api/runs.stop", "", &stop)
        .await
        .status()
        .as_u16();
    assert_ne!(first, 429);
    let second = refusal(post(&bot, "/api/runs.stop", "", &stop).await).await;
    assert_eq!(
        (second.0, second.1.as_str(), &second.2["code"]),
        (429, "60", &json!("rate_limited"))
    );
    assert_eq!(
        post(&bot, "/api/runs.list", "", &json!({})).await.status(),
        200
    );

    // A denied tool does not count either.
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "runs_stop", "arguments": stop } });
    for _ in 0..3 {
        let answer = post(&bot, "/mcp", "reader", &call)
            .await
            .json::<Value>()
            .await
            .unwrap();
        assert_eq!(answer["error"]["data"]["code"], "unauthorized", "{answer}");
    }
}

#[tokio::test]
async fn full_service_refuses_or_queues() {
    let bot = bot(LoadLimits {
        runs: Some(1),
        runs_per_caller: Some(1),
        ..LoadLimits::default()
    })
    .await;
    bot.script(&["first", "second"]);
    bot.model.gated.store(true, Ordering::Relaxed);
    let body = |thread: &str| json!({ "text": "x", "thread": thread, "async": true });
    assert_eq!(
        post(&bot, "/ingress", "good", &body("t1")).await.status(),
        202
    );

    let held = json!({ "text": "x", "thread": "t2" });
    let own = refusal(post(&bot, "/ingress", "good", &held).await).await;
    assert_eq!(
        (own.0, own.1.as_str(), &own.2["code"]),
        (429, "15", &json!("rate_limited"))
    );
    let all = refusal(post(&bot, "/ingress", "pinned", &held).await).await;
    assert_eq!(
        (all.0, all.1.as_str(), &all.2["code"]),
        (503, "15", &json!("unavailable"))
    );

    let queued = post(&bot, "/ingress", "pinned", &body("t3")).await;
    assert_eq!(queued.status(), 202);
    let id = queued.json::<Value>().await.unwrap()["runId"].clone();
    let read = async || {
        let run = post(
            &bot,
            "/api/runs.get",
            "",
            &json!({ "id": id, "include": "messages" }),
        )
        .await;
        run.json::<Value>().await.unwrap()
    };
    let run = read().await;
    assert_eq!(
        (&run["queuePosition"], &run["finished"]),
        (&json!(1), &json!(false))
    );
    let list = post(&bot, "/api/runs.list", "", &json!({}))
        .await
        .json::<Value>()
        .await
        .unwrap();
    assert!(
        list["runs"]
            .as_array()
            .unwrap()
            .iter()
            .any(|run| run["queuePosition"] == json!(1)),
        "{list}"
    );

    bot.model.gated.store(false, Ordering::Relaxed);
    bot.model.gate.notify_one();
    assert!(bot.core.idle(super::wire::TIMEOUT).await);
    let run = read().await;
    assert_eq!(
        (&run["status"], run.get("queuePosition")),
        (&json!("completed"), None)
    );
}
