//! Tests every command: the happy path, and who may invoke it.

use ars_auth::{Actor, Grants, Set};
use ars_bot_core::commands::Caller;
use ars_commands::{RawInput, Surface};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::support::{ACTOR, RECORD, bot, get, post, read, review, send};
use crate::support::{Bot, record, say};

const FINISHED_AT: i64 = 1_760_000_000_000;

/// Returns every command: GET query or POST body, and an output member.
fn table() -> Vec<(&'static str, Option<&'static str>, Value, &'static str)> {
    let channel = "http:default";
    vec![
        ("help.show", Some(""), json!({}), "commands"),
        ("status.show", Some(""), json!({}), "inFlight"),
        (
            "config.show",
            Some("channel=http:default"),
            json!({ "channel": channel }),
            "effective",
        ),
        (
            "config.set",
            None,
            json!({ "scope": "channel", "channel": channel, "effort": "low" }),
            "effective",
        ),
        (
            "config.instructions",
            None,
            json!({ "scope": "channel", "channel": channel, "text": "be brief" }),
            "instructions",
        ),
        (
            "config.clear",
            None,
            json!({ "scope": "channel", "channel": channel }),
            "cleared",
        ),
        (
            "runs.list",
            Some("status=all&limit=5"),
            json!({ "status": "all", "limit": 5 }),
            "runs",
        ),
        (
            "runs.get",
            Some("id=done&include=messages"),
            json!({ "id": "done", "include": "messages" }),
            "events",
        ),
        (
            "runs.events",
            Some("id=done&after-seq=0"),
            json!({ "id": "done", "afterSeq": 0 }),
            "events",
        ),
        (
            "runs.friction",
            Some("id=done"),
            json!({ "id": "done" }),
            "diagnosis",
        ),
        (
            "runs.outcomes",
            Some("agent=coding"),
            json!({ "agent": "coding" }),
            "outcomes",
        ),
        (
            "runs.stop",
            None,
            json!({ "id": "LIVE", "mode": "soft" }),
            "state",
        ),
        ("runs.restore", None, json!({ "id": "done" }), "checkpoint"),
        (
            "review.abridge",
            None,
            json!({ "id": "reviewed", "wait": true }),
            "artifact",
        ),
        (
            "memory.list",
            Some("scope=org&limit=3"),
            json!({ "scope": "org", "limit": 3 }),
            "scopes",
        ),
        ("memory.forget", None, json!({ "id": RECORD }), "forgotten"),
        (
            "friction.report",
            Some("min-runs=1"),
            json!({ "minRuns": 1 }),
            "patterns",
        ),
        (
            "friction.propose",
            None,
            json!({ "dryRun": true, "repo": "acme/app" }),
            "proposals",
        ),
        ("repo.list", Some(""), json!({}), "residents"),
        (
            "repo.onboard",
            None,
            json!({ "slug": "acme/new", "test": "make check" }),
            "detection",
        ),
        (
            "repo.offboard",
            None,
            json!({ "slug": "acme/app", "dryRun": true }),
            "wouldRemove",
        ),
        (
            "repo.reconfigure",
            None,
            json!({ "slug": "acme/app", "ref": "dev" }),
            "changed",
        ),
        ("repo.rebuild", None, json!({ "slug": "acme/app" }), "keeps"),
        ("repo.test", None, json!({ "slug": "acme/app" }), "output"),
        (
            "repo.build",
            None,
            json!({ "slug": "acme/app", "ref": "dev" }),
            "summary",
        ),
        ("schedule.list", Some(""), json!({}), "schedules"),
    ]
}

fn ids(bot: &Bot) -> Vec<&'static str> {
    bot.core
        .commands()
        .registry()
        .on(Surface::Api)
        .map(|definition| definition.id)
        .collect()
}

fn sorted(mut ids: Vec<&'static str>) -> Vec<&'static str> {
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn every_command_answers() {
    let bot = bot(Set::All, Set::All).await;
    assert_eq!(
        sorted(table().iter().map(|row| row.0).collect()),
        sorted(ids(&bot))
    );
    let run = bot.run("live", "scripted/m");
    say(&run, "hello");
    bot.store.insert(record(
        "done",
        FINISHED_AT,
        &[json!({ "type": "answer", "text": "x", "seq": 1 })],
    ));
    bot.store.insert(review("reviewed", FINISHED_AT));
    bot.script(&["One line."]);
    for (id, query, mut body, member) in table() {
        if body["id"] == "LIVE" {
            body["id"] = json!(run.id());
        }
        let posted = post(&bot, id, &body).await;
        assert_eq!(posted.status, 200, "{id}: {posted:?}");
        assert!(posted.json().get(member).is_some(), "{id}: {posted:?}");
        assert!(!posted.body.contains('\n'), "{id}: {posted:?}");
        let got = get(&bot, &format!("/api/{id}?{}", query.unwrap_or_default())).await;
        match query {
            Some(_) => assert_eq!(got, posted, "{id}"),
            None => assert_eq!(got.failure(), (405, "method_not_allowed".into()), "{id}"),
        }
    }
    drop(run);
}

#[tokio::test]
async fn body_has_the_bytes_of_the_command() {
    let bot = bot(Set::default(), Set::All).await;
    bot.store.insert(record(
        "done",
        FINISHED_AT,
        &[json!({ "type": "answer", "text": "x", "seq": 1 })],
    ));
    let caller = Caller::dashboard(Actor::browser(ACTOR).with(&Grants {
        channels: Set::All,
        ..Grants::default()
    }));
    for (id, query, body, _) in table() {
        if query.is_some() {
            let Value::Object(input) = &body else {
                unreachable!("the table has objects")
            };
            let success = bot
                .core
                .commands()
                .invoke(&caller, id, &RawInput::Object(input.clone()))
                .await;
            assert_eq!(
                post(&bot, id, &body).await.body,
                success.unwrap().json,
                "{id}"
            );
        }
    }
}

/// Who invokes each command: no credential, a session without configured grants, a session with all
/// grants.
const PERMITTED: [(&str, &str); 26] = [
    ("help.show", "-yy"),
    ("status.show", "-yy"),
    ("config.show", "-yy"),
    ("config.set", "-yy"),
    ("config.clear", "-yy"),
    ("config.instructions", "-yy"),
    ("runs.list", "-yy"),
    ("runs.get", "-yy"),
    ("runs.events", "-yy"),
    ("runs.friction", "-yy"),
    ("runs.outcomes", "-yy"),
    ("runs.stop", "--y"),
    ("runs.restore", "--y"),
    ("review.abridge", "--y"),
    ("memory.list", "-yy"),
    ("memory.forget", "--y"),
    ("friction.report", "-yy"),
    ("friction.propose", "--y"),
    ("repo.list", "-yy"),
    ("repo.onboard", "--y"),
    ("repo.offboard", "--y"),
    ("repo.reconfigure", "--y"),
    ("repo.rebuild", "--y"),
    ("repo.test", "--y"),
    ("repo.build", "--y"),
    ("schedule.list", "-yy"),
];

/// A permitted caller learns about the unknown option, and no other caller does.
#[tokio::test]
async fn each_command_admits_exactly_its_callers() {
    let (session, full) = (
        bot(Set::default(), Set::default()).await,
        bot(Set::All, Set::All).await,
    );
    assert_eq!(
        sorted(PERMITTED.iter().map(|row| row.0).collect()),
        sorted(ids(&full))
    );
    let body = json!({ "nope": 1 });
    for (id, permitted) in PERMITTED {
        let anonymous = Client::new()
            .post(full.url(&format!("/api/{id}")))
            .json(&body)
            .send()
            .await
            .unwrap();
        let answers = [
            read(anonymous).await,
            post(&session, id, &body).await,
            post(&full, id, &body).await,
        ];
        for (index, (answer, expected)) in answers.iter().zip(permitted.chars()).enumerate() {
            let expected = match (expected, index) {
                ('y', _) => (400, "invalid_input".to_owned()),
                (_, 0) => (403, "forbidden".to_owned()),
                _ => (403, "unauthorized".to_owned()),
            };
            assert_eq!(answer.failure(), expected, "{id} {index}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn hidden_run_looks_unknown() {
    let bot = bot(Set::default(), Set::default()).await;
    bot.store.insert(record("done", FINISHED_AT, &[]));
    let run = bot.run("live", "scripted/m");
    for command in ["runs.get", "runs.events", "runs.friction"] {
        let unknown = get(&bot, &format!("/api/{command}?id=unknown")).await;
        assert_eq!(unknown.failure(), (404, "not_found".into()));
        for id in ["done", run.id().as_str()] {
            assert_eq!(
                get(&bot, &format!("/api/{command}?id={id}")).await,
                unknown,
                "{command} {id}"
            );
        }
    }
    assert_eq!(
        get(&bot, "/api/runs.list?status=all").await.json(),
        json!({ "runs": [] })
    );
    drop(run);
}

#[tokio::test]
async fn absent_capability_hides_its_commands() {
    let bot = Bot::start().await;
    for id in ["memory.list", "memory.forget", "schedule.list", "repo.list"] {
        let request = Client::new().get(bot.url(&format!("/api/{id}")));
        assert_eq!(
            read(request.send().await.unwrap()).await.failure(),
            (404, "not_found".into()),
            "{id}"
        );
    }
}

#[tokio::test]
async fn empty_body_is_an_empty_object() {
    let bot = bot(Set::default(), Set::All).await;
    let json = [("content-type", "application/json")];
    let answer = send(&bot, Method::POST, "/api/help.show", &json, "").await;
    assert_eq!(answer, get(&bot, "/api/help.show").await);
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn store_outage_is_unavailable() {
    let bot = bot(Set::default(), Set::All).await;
    bot.store
        .down
        .store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(
        get(&bot, "/api/runs.get?id=done").await.failure(),
        (503, "unavailable".into())
    );
    assert_eq!(get(&bot, "/api/runs.list").await.status, 200);
}
