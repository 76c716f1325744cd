//! A fake workspace whose channel shows threads with the bot: its cards and replies as people see them.
//!
//! Not here: the checks and pictures of the page, which `views` makes as for every page.

use std::time::Duration;

use ars_events::EventBody;
use ars_slack::{
    card::{CardHead, CardOutcome, CardState, frame},
    markup::to_mrkdwn,
};
use ars_testkit::slack::FakeSlack;
use ars_types::{RunId, UnixMillis};
use reqwest::{Client, Upgraded};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// When the workspace's clock stands still.
const NOW: UnixMillis = 1_760_000_000_000;
const CHANNEL: &str = "C0GENERAL";
const ADA: &str = "U0ADA";
/// What a run posts at its end.
const REPLY: &str = "The parser rejected a **trailing comma** because `list` required an item after each one. \
    Fixed in [#12](https://code.example/acme/app/pull/12), with a test.\n\n| Case | Before | Now |\n|---|---|---|\n\
    | `[1, 2]` | ok | ok |\n| `[1, 2,]` | error | ok |";

/// Returns a workspace in which one run works, one completed, and one was stopped, with the bot's
/// connection.
pub async fn workspace() -> (FakeSlack, Upgraded) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let slack = FakeSlack::rehearse(listener);
    slack.freeze_clock(Duration::from_millis(u64::try_from(NOW).unwrap()));
    let ask = |text: &str| slack.say(CHANNEL, ADA, &format!("{} {text}", slack.mention()), None);

    let thread = ask("compare the three queue libraries");
    let mut state = card("r2", "research", 21_000);
    state.close(CardOutcome::Stopped, NOW);
    show(&slack, &thread, &state).await;

    let thread = ask("upgrade the database driver of acme/app");
    let receipt = json!({ "channel": CHANNEL, "timestamp": thread, "name": "eyes" });
    call(&slack, "reactions.add", &receipt).await;
    let mut state = card("r3", "coding", 42_000);
    state.status(
        "[x] read the changelog\n[~] change the calls\n[ ] run the tests",
        NOW,
    );
    let running = json!({ "type": "tool_call", "tool": "bash", "callId": "c1", "summary": "$ cargo test --quiet" });
    let running: EventBody = serde_json::from_value(running).unwrap();
    state.apply(&running, NOW);
    show(&slack, &thread, &state).await;

    let thread = ask("why does acme/app reject a trailing comma? Please fix it.");
    let mut state = card("r1", "coding", 184_000);
    state.status("[x] find the cause\n[x] fix it\n[x] test it", NOW);
    state.cost(184_000);
    state.close(CardOutcome::Completed, NOW);
    show(&slack, &thread, &state).await;
    let reply = json!({ "channel": CHANNEL, "thread_ts": thread, "text": to_mrkdwn(REPLY) });
    call(&slack, "chat.postMessage", &reply).await;

    let bot = connect(&slack).await;
    (slack, bot)
}

/// Opens the bot's connection, which is not read.
async fn connect(slack: &FakeSlack) -> Upgraded {
    let opened = post(
        slack,
        "apps.connections.open",
        &slack.app_token(),
        &json!({}),
    )
    .await;
    let address = opened["url"].as_str().unwrap().replacen("ws", "http", 1);
    let request = Client::new()
        .get(address)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    request.send().await.unwrap().upgrade().await.unwrap()
}

/// Returns the card of a run that began this many milliseconds ago.
fn card(run: &str, agent: &str, ago: i64) -> CardState {
    let head = CardHead {
        run: RunId::parse(run).ok(),
        agent: agent.to_owned(),
        model: Some("anthropic/some-model".to_owned()),
        url: Some(format!("https://agents.example/runs/{run}")),
    };
    CardState::new(head, NOW - ago)
}

async fn show(slack: &FakeSlack, thread: &str, state: &CardState) {
    let frame = frame(state, NOW);
    let card = json!({
        "channel": CHANNEL, "thread_ts": thread, "text": frame.text, "blocks": frame.blocks,
    });
    call(slack, "chat.postMessage", &card).await;
}

async fn call(slack: &FakeSlack, method: &str, body: &Value) {
    post(slack, method, &slack.bot_token(), body).await;
}

async fn post(slack: &FakeSlack, method: &str, token: &str, body: &Value) -> Value {
    let request = Client::new()
        .post(format!("{}/{method}", slack.url()))
        .bearer_auth(token)
        .header("content-type", "application/json; charset=utf-8")
        .body(body.to_string());
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
    answer
}
