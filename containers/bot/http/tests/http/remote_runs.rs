//! Pages for a run that is live in another process.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeMap, sync::Arc};

use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_http::Dashboard;
use ars_bot_ports::{Channel, Channels};
use ars_types::{RunId, StopMode};
use ars_wire::ledger::LiveRun;
use reqwest::Client;
use serde_json::{Value, json};

use super::{
    scripted_ledger::{Kept, ScriptedLedger},
    support::{Bot, TOKENS, record},
};

const STARTED_AT: i64 = 1_760_000_000_000;
/// The run's capability token.
pub const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Channels that cannot be reopened.
pub struct NoChannels;

impl Channels for NoChannels {
    fn reopen(&self, _run: &LiveRun) -> Option<Arc<dyn Channel>> {
        None
    }
}

fn away() -> RunId {
    RunId::parse("away").unwrap()
}

/// Returns a bot beside a process that drives the run `away`, and stores the run's provisional record.
pub async fn beside_another() -> (Bot, Arc<ScriptedLedger>) {
    beside_another_with(
        Dashboard::default(),
        TOKENS,
        Settings::default(),
        |capabilities| capabilities,
    )
    .await
}

/// Returns the same with this gate, these tokens and settings, and further capabilities.
pub async fn beside_another_with(
    gate: Dashboard,
    tokens: &str,
    settings: Settings,
    capable: fn(Capabilities) -> Capabilities,
) -> (Bot, Arc<ScriptedLedger>) {
    let row = json!({
        "runId": "away", "threadKey": "http:default:away", "ownerGen": "another",
        "leaseUntil": STARTED_AT + 30_000, "startedAt": STARTED_AT, "phase": "live", "stop": null,
        "meta": {
            "agent": "coding", "model": "scripted/m", "channelId": "http:default", "userId": "http:ann",
            "threadKey": "http:default:away", "channelVisibility": "machine", "label": "label of away",
            "receivedAt": STARTED_AT,
        },
        "card": null, "system": "", "tools": [], "state": { "viewToken": TOKEN },
    });
    let kept = Kept {
        row: serde_json::from_value(row).unwrap(),
        events: BTreeMap::from([(1, json!({"type": "input", "text": "please fix", "seq": 1}))]),
        steps: BTreeMap::new(),
        inbox: Vec::new(),
        stop_actor: None,
    };
    let ledger = Arc::new(ScriptedLedger::default());
    ledger.runs().insert(away(), kept);
    let capabilities = capable(ledger.capability("this", Arc::new(NoChannels)));
    let bot = Bot::with_capabilities(gate, tokens, settings, capabilities).await;
    bot.store.insert(record("away", STARTED_AT, &[]));
    (bot, ledger)
}

async fn text(bot: &Bot, path: &str) -> (u16, String) {
    let response = reqwest::get(bot.url(path)).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn stop(bot: &Bot, query: &str) -> (u16, String) {
    let response = Client::new()
        .post(bot.url(&format!("/runs/away/stop?{query}")))
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn index_lists_a_remote_run_as_live() {
    let (bot, _ledger) = beside_another().await;
    for path in ["/runs", "/runs?all=1"] {
        let (_, html) = text(&bot, path).await;
        assert!(
            html.contains(&format!("href=\"/runs/away?t={TOKEN}\"")),
            "{html}"
        );
        assert_eq!(html.matches("data-id=\"away\"").count(), 1, "{html}");
        assert!(
            html.contains("data-status=\"running\"") && !html.contains("Interrupted"),
            "{html}"
        );
    }
}

#[tokio::test]
async fn remote_run_without_its_token_looks_unknown() {
    let (bot, _ledger) = beside_another().await;
    for route in ["", "/events", "/friction"] {
        let unknown = text(&bot, &format!("/runs/unknown{route}")).await;
        assert_eq!(unknown.0, 404);
        for query in ["", "?t=wrong", "?t="] {
            assert_eq!(
                text(&bot, &format!("/runs/away{route}{query}")).await,
                unknown,
                "{route}{query}"
            );
        }
    }
}

#[tokio::test]
async fn remote_run_opens_with_its_token() {
    let (bot, _ledger) = beside_another().await;
    let (status, html) = text(&bot, &format!("/runs/away?t={TOKEN}")).await;
    assert!(
        status == 200 && html.contains("data-mode=\"live\"") && html.contains("please fix"),
        "{html}"
    );
    let (status, body) = text(&bot, &format!("/runs/away/friction?t={TOKEN}")).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["finished"]), (200, &json!(false)));
}

#[tokio::test]
async fn remote_events_are_streamed() {
    let (bot, _ledger) = beside_another().await;
    let mut response = reqwest::get(bot.url(&format!("/runs/away/events?t={TOKEN}")))
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let mut body = String::new();
    while !body.contains("please fix") {
        let chunk = response.chunk().await.unwrap().unwrap();
        body.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(body.contains("id: 1\n"), "{body}");
}

#[tokio::test]
async fn stop_of_a_remote_run_reaches_the_ledger() {
    let (bot, ledger) = beside_another().await;
    for query in ["mode=soft", "t=wrong&mode=soft"] {
        assert_eq!(
            stop(&bot, query).await,
            (404, "Not found\n".into()),
            "{query}"
        );
    }
    let (status, body) = stop(&bot, &format!("t={TOKEN}&mode=hard")).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, body),
        (
            200,
            json!({"id": "away", "mode": "hard", "state": "stopping"})
        )
    );
    assert_eq!(ledger.runs()[&away()].row.stop, Some(StopMode::Hard));
    assert!(
        text(&bot, "/runs")
            .await
            .1
            .contains("data-status=\"stopping\"")
    );
}
