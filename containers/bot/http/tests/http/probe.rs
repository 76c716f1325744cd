//! The health probe and the paths without a route.
#![expect(clippy::unwrap_used, reason = "a test")]

use ars_bot_core::settings::Settings;
use reqwest::Client;
use serde_json::{Value, json};

use super::{
    support::Bot,
    wire::{TIMEOUT, exchange, until},
};

async fn get(bot: &Bot, path: &str) -> (u16, Value) {
    let response = reqwest::get(bot.url(path)).await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn probe_has_exactly_the_specified_fields() {
    let bot = Bot::start().await;
    let (status, body) = get(&bot, "/healthz").await;
    assert_eq!(status, 200);
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "ok",
            "inFlight",
            "draining",
            "drainDeadlineMs",
            "build",
            "slack",
            "process",
            "startedAt"
        ]
    );
    assert_eq!(body["build"], json!({"commit": "abc123"}));
    assert_eq!(body["slack"], json!({"connected": false}));
    assert_eq!(
        (&body["ok"], &body["inFlight"], &body["draining"]),
        (&json!(true), &json!(0), &json!(false))
    );
    assert_eq!(
        (&body["drainDeadlineMs"], &body["startedAt"]),
        (&json!(900_000), &json!("2025-10-09T08:53:20.000Z"))
    );
    for field in ["rssMb", "heapUsedMb"] {
        assert!(body["process"][field].as_f64().unwrap() > 0.5, "{body}");
    }
    assert!(body["process"]["eventLoopLagP99Ms"].is_number());
}

/// Without run history and ledger there is no generation, and a page lives as long as the run.
#[tokio::test]
async fn pages_end_with_their_runs_without_history() {
    let bot = Bot::without_history().await;
    let (_, probe) = get(&bot, "/healthz").await;
    assert_eq!(probe.get("generation"), None, "{probe}");
    bot.script(&["done"]);
    let request = json!({ "text": "hi", "history": [] });
    let answer = Client::new()
        .post(bot.url("/ingress"))
        .bearer_auth("good")
        .json(&request)
        .send()
        .await
        .unwrap();
    let answer: Value = answer.json().await.unwrap();
    let page = async |path: String| {
        let response = reqwest::get(bot.url(&path)).await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let run = format!("/runs/{}", answer["run"]["id"].as_str().unwrap());
    assert_eq!(page(run.clone()).await.0, 200);
    bot.clock.advance(61_000);
    for path in [
        run.clone(),
        format!("{run}/events"),
        format!("{run}/friction"),
    ] {
        assert_eq!(page(path.clone()).await.0, 404, "{path}");
    }
    let (status, index) = page("/runs?all=1".to_owned()).await;
    assert!(
        status == 200 && index.contains("runHistory.store") && !index.contains(&run),
        "{index}"
    );
    let (status, report) = get(&bot, "/api/friction.report").await;
    assert_eq!((status, &report["code"]), (503, &json!("unavailable")));
}

#[tokio::test]
async fn a_drain_shows_in_the_probe() {
    let bot = Bot::start().await;
    assert!(bot.core.drain(TIMEOUT).await);
    let (_, body) = get(&bot, "/healthz").await;
    assert_eq!(
        (&body["draining"], &body["drainStartedAt"]),
        (&json!(true), &json!("2025-10-09T08:53:20.000Z"))
    );
}

#[tokio::test]
async fn unknown_paths_outside_surfaces_answer_the_probe() {
    let bot = Bot::start_with("", Settings::default()).await;
    for path in [
        "/",
        "/nothing/here",
        "/ingress/x",
        "/runsx",
        "/healthz/",
        "/%ff",
        "/admin/nothing",
    ] {
        let (status, body) = get(&bot, path).await;
        assert_eq!((status, &body["ok"]), (200, &json!(true)), "{path}");
    }
    for path in "/api /api/no.such /API//x/ /%61pi/x /mcp/ /mcp/x /admin/restart/ \
        /.well-known/oauth-protected-resource /.well-known/oauth-protected-resource/mcp \
        /.well-known/oauth-authorization-server /.well-known/openid-configuration"
        .split(' ')
    {
        let (status, body) = get(&bot, path).await;
        assert_eq!(
            (status, &body["code"]),
            (404, &json!("not_found")),
            "{path}"
        );
    }
    for path in "/runs/a/nope /runs/a/events/ //runs /Runs/a /schedules/x".split(' ') {
        let url = bot.url(path);
        let answer = reqwest::get(&url).await.unwrap();
        assert_eq!(
            (
                answer.status().as_u16(),
                answer.text().await.unwrap().as_str()
            ),
            (404, "Not found\n"),
            "{path}"
        );
        // The gate precedes it.
        let answer = Client::new()
            .get(url)
            .header("x-forwarded-for", "10.0.0.1")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 403, "{path}");
    }
    let posted = Client::new()
        .post(bot.url("/anything"))
        .send()
        .await
        .unwrap();
    assert_eq!(posted.status(), 200);
}

#[tokio::test]
async fn garbage_does_not_reach_a_route() {
    let bot = Bot::start().await;
    for bytes in [
        "\r\n\r\nnonsense\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
    ] {
        let answer = exchange(&bot, bytes.as_bytes()).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
            "{bytes:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_shutdown_ends_streams_and_idle_connections() {
    let mut bot = Bot::start().await;
    let run = bot.run("going on", "scripted/m");
    let mut stream = tokio::net::TcpStream::connect(bot.address).await.unwrap();
    let head = "GET /runs?stream=1 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes())
        .await
        .unwrap();
    let mut text = String::new();
    until(&mut stream, &mut text, run.id().as_str()).await;
    tokio::time::timeout(TIMEOUT, bot.stop()).await.unwrap();
    assert!(reqwest::get(bot.url("/healthz")).await.is_err());
}
