//! `slack_sdk` and Bolt against the fake workspace.

use ars_testkit::slack::{FakeSlack, Fault};
use ars_tests_models::{Client, run, run_bolt_app};
use serde_json::{Value, json};

const CHANNEL: &str = "C0GENERAL";
const PERSON: &str = "U0ADA";

#[tokio::test]
async fn bot_works_in_a_thread() {
    let fake = FakeSlack::start().await;
    fake.allow_streams();
    let thread = fake.say(CHANNEL, PERSON, "Hello", None);
    let input = json!({
        "token": fake.bot_token(), "channel": CHANNEL, "thread": thread, "user": PERSON, "team": fake.team(),
        "email": "ada@acme.test",
    });
    let seen = run(Client::Slack, "converse", &fake.url(), &input).await;
    let posted = fake.thread(CHANNEL, &thread)[1].ts.clone();
    let link = format!(
        "https://acme.slack.test/archives/{CHANNEL}/p{}?thread_ts={thread}&cid={CHANNEL}",
        posted.replace('.', "")
    );
    let expected = json!({
        "me": [fake.bot_user(), "B0ARS"], "changed": ["Two", true], "link": link, "file": ["Log", 4],
        "stream": "**a**", "pages": [["Hello", "Two"], ["Hello", "Output"], ["Hello", "**a**"]],
        "channels": [CHANNEL, "D0ADA"], "channel": "general", "parent": [3, "eyes"], "person": ["Ada Lovelace", PERSON],
    });
    assert_eq!(seen, expected);
    assert_eq!(fake.ephemeral(CHANNEL)[0].1.text, "Only you");
    assert_eq!(fake.statuses(CHANNEL, &thread)[0].status, "is thinking...");
}

/// The chunks are those of the client's own types.
#[tokio::test]
async fn python_client_streams_a_plan() {
    let fake = FakeSlack::start().await;
    let thread = fake.say(CHANNEL, PERSON, "Hello", None);
    let input = json!({
        "token": fake.bot_token(), "channel": CHANNEL, "thread": thread, "user": PERSON, "team": fake.team(),
    });
    let refused = run(Client::Slack, "plan", &fake.url(), &input).await;
    assert_eq!(refused, json!("channel_type_not_supported"));
    fake.allow_streams();
    let seen = run(Client::Slack, "plan", &fake.url(), &input).await;
    let task = |id: &str, status: &str| json!({ "task_id": id, "title": id, "status": status });
    let expected = json!({
        "open": ["Work", [task("read", "in_progress"), task("write", "pending")]],
        "ended": ["Worked", [task("read", "complete"), task("write", "error")]],
        "below": "ars-card:r1", "again": "message_not_in_streaming_state", "edited": ["ars-card:r1"],
    });
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn errors_reach_the_python_client() {
    let fake = FakeSlack::start().await;
    fake.fail("auth.test", Fault::RateLimited(3));
    fake.fail("users.info", Fault::Error("internal_error"));
    fake.revoke_scope("chat:write");
    let post = json!({ "channel": CHANNEL, "text": "a" });
    let other = json!({ "channel": "C0NONE" });
    let calls = json!([
        ["auth.test", {}], ["users.info", { "user": PERSON }], ["chat.postMessage", post],
        ["conversations.history", other], ["auth.test", {}],
    ]);
    let input = json!({ "token": fake.bot_token(), "calls": calls });
    let failed = run(Client::Slack, "failing", &fake.url(), &input).await;
    let expected = json!([
        ["ratelimited", 429, "3"],
        ["internal_error", 200, null],
        ["missing_scope", 200, null],
        ["channel_not_found", 200, null],
        null,
    ]);
    assert_eq!(failed, expected);
}

#[tokio::test]
async fn python_client_acknowledges_events() {
    let fake = FakeSlack::start().await;
    let input = json!({ "token": fake.bot_token(), "appToken": fake.app_token(), "count": 2 });
    let url = fake.url();
    let listening = run(Client::Slack, "listen", &url, &input);
    let saying = async {
        fake.wait_for_connections(1).await;
        fake.ping();
        fake.say(CHANNEL, PERSON, &format!("{} hi", fake.mention()), None);
        fake.wait_for_acks().await;
    };
    let (requests, ()) = tokio::join!(listening, saying);
    let mut kinds: Vec<&Value> = requests
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one[1])
        .collect();
    kinds.sort_by_key(|kind| kind.as_str());
    assert_eq!(kinds, ["app_mention", "message"]);
}

#[tokio::test]
async fn bolt_app_answers_mention_and_button() {
    let fake = FakeSlack::start().await;
    let input = json!({ "token": fake.bot_token(), "appToken": fake.app_token() });
    let url = fake.url();
    let app = run_bolt_app(&url, &input);
    let text = format!("{} hi", fake.mention());
    let asking = async {
        fake.wait_for_connections(1).await;
        let ts = fake.say(CHANNEL, PERSON, &text, None);
        let asked = fake
            .wait_for_message(CHANNEL, |one| one.text == "Ready?")
            .await;
        assert_eq!(asked.thread_ts, Some(ts));
        fake.press(CHANNEL, &asked.ts, "go", PERSON);
        fake.wait_for_message(CHANNEL, |one| one.text == "Pressed 1")
            .await;
    };
    let (seen, ()) = tokio::join!(app, asking);
    assert_eq!(seen, json!([text, "1"]));
    fake.wait_for_connections(0).await;
}
