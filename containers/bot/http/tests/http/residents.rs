//! Residents' pages: content, statuses, and the change feed.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_http::Dashboard;
use ars_bot_ports::ResidentsError;
use ars_events::sse::Decoder;
use ars_resident::{
    lifecycle::StateWord,
    refusal::{Refusal, Token},
};
use futures::StreamExt;
use reqwest::{Client, Method};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    fleet::fleet,
    memory_residents::{MemoryResidents, with_residents},
    support::{Bot, TOKENS, live_path},
    wire::TIMEOUT,
};

const NOW: i64 = 1_760_000_000_000;

async fn with(residents: &Arc<MemoryResidents>) -> Bot {
    let capabilities = with_residents(residents)(Capabilities::default());
    Bot::with_capabilities(
        Dashboard::Loopback,
        TOKENS,
        Settings::default(),
        capabilities,
    )
    .await
}

async fn get(bot: &Bot, path: &str) -> (u16, String) {
    let response = reqwest::get(bot.url(path)).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn list_shows_every_state() {
    let bot = with(&fleet(NOW)).await;
    let (status, html) = get(&bot, "/residents").await;
    assert_eq!(status, 200);
    for text in [
        "favicon-bad.svg",
        "href=\"/residents/acme/calculator\"",
        "data-tone=\"good\">Warm",
        "main@3f9c2ab",
        "4m 12s</span>",
        "7.0 GiB of 20 GiB used",
        "room for 9 more trees",
        "room for more trees is unknown",
        "data-tone=\"changing\">Refreshing",
        "build-failed: exit 101: error: &#60;b&#62;",
        "Not reachable",
        "aria-current=\"page\">Residents</a>",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(!html.contains("<b>"), "{html}");
    let (_, html) = get(&with(&Arc::default()).await, "/residents").await;
    assert!(
        html.contains("favicon-unknown.svg") && html.contains("repo onboard owner/name"),
        "{html}"
    );
}

#[tokio::test]
async fn resident_shows_trees_and_their_runs() {
    let bot = with(&fleet(NOW)).await;
    let run = bot.run_in("parser", "Make the parser accept commas", "scripted/m");
    let (status, html) = get(&bot, "/residents/acme/calculator").await;
    assert_eq!(status, 200);
    let link = format!(
        "<a href=\"{}\">Make the parser accept commas</a>",
        live_path(&run)
    );
    for text in [
        &*link,
        "favicon-good.svg",
        "unsaved work",
        "class=\"tag clean\"",
        "not checked for <span class=\"age\" data-at=\"1759999820000\">3m 00s</span>",
        "refs/ars/r7/3",
        "fix/division-by-zero@8d21e0f",
        "worker2",
        "341 MiB",
        "removed: clean-idle",
        "Threads without a tree (1)",
        "<dt>Median</dt><dd>128 ms</dd>",
        "<polyline points=\"0,",
        "<dt>Dependencies</dt><dd>3.0 GiB</dd>",
        "<dt>Homes</dt>",
        "npm test",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let (_, html) = get(&bot, "/residents/acme/gone").await;
    assert!(
        html.contains("the object did not answer") && html.contains("No thread has a tree."),
        "{html}"
    );
}

#[tokio::test]
async fn statuses_are_those_of_the_reference() {
    let residents = MemoryResidents::with_one("acme/app");
    let (bot, without) = (with(&residents).await, Bot::start().await);
    for (path, present, absent) in [
        ("/residents", 200, 503),
        ("/residents/acme/app", 200, 503),
        ("//Residents/acme/app/", 200, 503),
        ("/residents/acme/other", 404, 503),
        (&*format!("/residents/acme/{}", "a".repeat(80)), 404, 503),
        // The health probe.
        ("/residents/acme", 200, 200),
        ("/residents/-acme/app", 200, 200),
        ("/residents/acme/app/x", 200, 200),
    ] {
        assert_eq!(
            (get(&bot, path).await.0, get(&without, path).await.0),
            (present, absent),
            "{path}"
        );
    }
    assert!(
        get(&bot, "/residents/-acme/app")
            .await
            .1
            .contains("\"inFlight\"")
    );
    assert!(
        get(&without, "/residents")
            .await
            .1
            .contains("execution.resident.baseUrl")
    );
    for bot in [&bot, &without] {
        let response = Client::new()
            .request(Method::PUT, bot.url("/residents/acme/app"))
            .send()
            .await
            .unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["allow"]),
            (405, &"GET,HEAD".parse().unwrap())
        );
    }
    for (error, reason) in [
        (
            ResidentsError::Unreachable("connection refused".into()),
            "resident unreachable: connection refused",
        ),
        (
            ResidentsError::Failed("HTTP 500".into()),
            "resident failed: HTTP 500",
        ),
        (Refusal::new(Token::Unauthorized, "").into(), "unauthorized"),
    ] {
        residents.fail(error);
        let (status, text) = get(&bot, "/residents").await;
        assert!(status == 502 && text.contains(reason), "{status} {text}");
    }
}

#[tokio::test]
async fn pages_are_not_cached_and_have_a_policy() {
    let bot = with(&fleet(NOW)).await;
    for path in ["/residents", "/residents/acme/app", "/residents/acme/none"] {
        let response = reqwest::get(bot.url(path)).await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            (header("cache-control"), header("x-frame-options")),
            ("no-store".into(), "DENY".into())
        );
        assert!(
            header("content-security-policy").starts_with("default-src 'none'"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn person_learns_that_a_repository_has_no_resident() {
    let bot = with(&fleet(NOW)).await;
    let (_, plain) = get(&bot, "/residents/acme/none").await;
    let asked = Client::new()
        .get(bot.url("/residents/acme/none"))
        .header("accept", "text/html");
    let page = asked.send().await.unwrap();
    assert_eq!(page.status(), 404);
    let html = page.text().await.unwrap();
    assert!(
        html.contains("name=\"viewport\"") && html.contains(plain.trim()),
        "{html}"
    );
}

#[tokio::test]
async fn feed_reports_a_change_once() {
    let residents = fleet(NOW);
    let bot = with(&residents).await;
    let (_, html) = get(&bot, "/residents").await;
    let shown = html
        .split_once("data-version=\"")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0
        .to_owned();
    let response = reqwest::get(bot.url("/residents/acme/app?stream=1"))
        .await
        .unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let mut chunks = Box::pin(response.bytes_stream());
    let mut decoder = Decoder::default();
    let mut versions: Vec<String> = Vec::new();
    while versions.len() < 3 {
        let chunk = timeout(TIMEOUT, chunks.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        for frame in decoder.push(&chunk) {
            let data: Value = serde_json::from_str(&frame.data).unwrap();
            versions.push(data["version"].as_str().unwrap().to_owned());
            match versions.len() {
                // A run that starts makes the feed look at once.
                1 => residents.change("acme/site", |view| view.state = StateWord::Warm),
                2 => residents.fail(ResidentsError::Busy),
                _ => {}
            }
            drop(bot.run("other", "scripted/m"));
        }
    }
    assert_eq!((&versions[0], &*versions[2]), (&shown, "unavailable"));
    assert_ne!(versions[1], shown);
}
