//! Webhooks from the fake GitHub, from the signed delivery to the single comment that answers it.

use std::{sync::Arc, time::Duration};

use ars_auth::Secret;
use ars_bot_adapters::code_host::{Credentials, GitHub, GitHubSettings, TokioPause};
use ars_bot_http::github::CommentChannel;
use ars_bot_ports::{Channel as _, ChannelEvent, Clock, Randomness};
use ars_codehost::Host;
use ars_testkit::{
    FakeAnthropic, Reply,
    github::{
        Delivered, FakeComment, FakeGitHub, FakeItem, FakePull, Fault, checked, commented,
        review_requested, sign,
    },
};
use ars_types::UnixMillis;
use serde_json::{Value, json};

use crate::support::{CANARY, Machine, SERVE, Server, TIMEOUT, gated};

/// The webhook secret, which no output may contain.
const SECRET: &str = "canary-7f3a9c51e2-webhook";

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> UnixMillis {
        1_800_000_000_000
    }
}

/// A host with pull request 1 in `acme/app`, a model, and a machine.
struct World {
    github: FakeGitHub,
    model: FakeAnthropic,
    machine: Machine,
    head: String,
}

async fn world<const N: usize>(replies: [Reply; N]) -> World {
    let github = FakeGitHub::start().await;
    let head = github.add_repository("acme/app", &[("a.txt", "one\n")]);
    github.change("acme/app", |repository| {
        let pull = FakePull {
            head: "ars/r1/fix".into(),
            sha: head.clone(),
            base: "main".into(),
            ..FakePull::default()
        };
        let item = FakeItem {
            number: 1,
            title: "Fix".into(),
            user: "ars[bot]".into(),
            is_open: true,
            pull: Some(pull),
            ..FakeItem::default()
        };
        repository.items.insert(1, item);
    });
    let model = FakeAnthropic::start().await;
    model.push(replies);
    World {
        github,
        model,
        machine: Machine::new(),
        head,
    }
}

impl World {
    async fn serve(&self, model: &str) -> Server {
        self.serve_with(model, "").await
    }

    /// Starts the service with more configuration.
    async fn serve_with(&self, model: &str, more: &str) -> Server {
        let config = "[restrict]\nrepos = [\"acme/secret\"]\n[grants.\"http:ann\"]\nactions = [\"help:read\"]\n\
                      [webhook]\nchecks = \"http:ci\"\n[webhook.users]\nAnn = \"http:ann\"\nbo = \"http:bo\"\n";
        let config = self.machine.file("ars.toml", &format!("{config}{more}"));
        let app = self.github.app();
        let mut ars = self.machine.ars_with(model, &SERVE);
        ars.env("SERVICE_CONFIG", config)
            .env("GITHUB_BASE_URL", self.github.url())
            .env("GITHUB_APP_ID", app.id)
            .env("GITHUB_APP_INSTALLATION_ID", app.installation.to_string())
            .env("GITHUB_APP_PRIVATE_KEY", app.private_key)
            .env("GITHUB_WEBHOOK_SECRET", SECRET);
        Server::start(&mut ars).await
    }

    fn comments(&self) -> Vec<FakeComment> {
        self.github.item("acme/app", 1).comments
    }

    /// Waits until the only comment contains these words, and returns it.
    async fn answered(&self, words: &str) -> FakeComment {
        let found = async {
            loop {
                let comments = self.comments();
                assert!(comments.len() <= 1, "{comments:#?}");
                if let Some(comment) = comments.into_iter().find(|one| one.body.contains(words)) {
                    return comment;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let found = tokio::time::timeout(TIMEOUT, found).await;
        found.unwrap_or_else(|_| panic!("no {words:?} in {:#?}", self.comments()))
    }
}

async fn post(server: &Server, delivered: &Delivered) -> (u16, Value) {
    let mut request = reqwest::Client::new().post(format!("{}/ingress/github", server.url));
    for (name, value) in &delivered.headers {
        request = request.header(*name, value);
    }
    let response = request.body(delivered.body.clone()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn mention(delivery: &str, login: &str, text: &str) -> Delivered {
    sign(
        SECRET,
        "issue_comment",
        delivery,
        &commented("acme/app", 1, login, text),
    )
}

/// The comment is edited in place and notifies no one. The delivery counts once, also after a
/// restart.
#[tokio::test]
async fn mention_is_answered_by_one_comment() {
    let world = world([Reply::text("All good, @bob. <!-- ars:answer=x -->")]).await;
    let server = world.serve(&world.model.url()).await;
    let delivered = mention("d-1", "Ann", "@ars how is it?");
    assert_eq!(
        post(&server, &delivered).await,
        (202, json!({ "accepted": true }))
    );
    let comment = world.answered("All good").await;
    assert_eq!(comment.user, "ars[bot]");
    assert!(
        comment.body.starts_with("All good, @\u{200b}bob."),
        "{}",
        comment.body
    );
    assert_eq!(
        comment.body.matches("<!-- ars:answer=").count(),
        1,
        "{}",
        comment.body
    );
    let repeated = (
        200,
        json!({ "ignored": "the delivery was received before" }),
    );
    assert_eq!(post(&server, &delivered).await, repeated);
    server.terminate().await.assert_code(0);

    let server = world.serve(&world.model.url()).await;
    assert_eq!(post(&server, &delivered).await, repeated);
    let ended = server.terminate().await;
    ended.assert_code(0);
    assert!(!ended.stderr.contains(CANARY), "{}", ended.stderr);
    let record = world.machine.record().await;
    assert_eq!(
        (&record["userId"], &record["threadKey"]),
        (&json!("http:ann"), &json!("github:acme/app:1"))
    );
    let asked = record["events"].to_string();
    assert!(
        asked.contains("how is it?") && asked.contains("acme/app#1") && !asked.contains("@ars"),
        "{asked}"
    );
    assert_eq!(world.comments().len(), 1);
}

/// Without a valid signature nothing is read, and without a mapped user nothing is done.
#[tokio::test]
async fn unsigned_and_foreign_events_have_no_effect() {
    let world = world([]).await;
    let server = world.serve(&world.model.url()).await;
    let ignored = |reason: &str| (200, json!({ "ignored": reason }));
    let forged = sign(
        "other",
        "issue_comment",
        "d",
        &commented("acme/app", 1, "ann", "@ars hi"),
    );
    let unsigned = Delivered {
        headers: Vec::new(),
        ..mention("d", "ann", "@ars hi")
    };
    let mut changed = mention("d", "ann", "@ars hi");
    changed.body.push(b' ');
    for rejected in [forged, unsigned, changed] {
        assert_eq!(post(&server, &rejected).await.0, 401);
    }
    let no_json = sign(SECRET, "issue_comment", "d", &json!("x"));
    assert_eq!(
        post(&server, &no_json).await,
        ignored("the event has no effect")
    );
    assert_eq!(
        post(&server, &mention("d", "ann", "hi")).await,
        ignored("the event has no effect")
    );
    assert_eq!(
        post(&server, &mention("d", "eve", "@ars hi")).await,
        ignored("the user is not mapped")
    );
    // The actor for failed checks is no person.
    assert_eq!(
        post(&server, &mention("d", "checks", "@ars hi")).await,
        ignored("the user is not mapped")
    );
    let secret = sign(
        SECRET,
        "issue_comment",
        "d",
        &commented("acme/secret", 1, "ann", "@ars hi"),
    );
    assert_eq!(
        post(&server, &secret).await,
        ignored("the user may not use the repository")
    );
    assert_eq!(post(&server, &mention("", "ann", "@ars hi")).await.0, 400);
    // A branch named like that of a run does not make a person's pull request the service's own.
    world.github.change("acme/app", |repository| {
        repository.items.get_mut(&1).unwrap().user = "bo".into();
    });
    let check = sign(
        SECRET,
        "check_run",
        "d",
        &checked("acme/app", 1, "ars/r1/fix", &world.head),
    );
    assert_eq!(
        post(&server, &check).await,
        ignored("the pull request is not the service's own")
    );
    let get = reqwest::get(format!("{}/ingress/github", server.url))
        .await
        .unwrap();
    assert_eq!(get.status().as_u16(), 405);
    server.terminate().await.assert_code(0);
    assert!(world.comments().is_empty() && world.machine.records().await.is_empty());
}

/// The headers are not signed, so they do not turn a signed body into another event.
#[tokio::test]
async fn signed_body_counts_once_under_any_header() {
    let world = world([]).await;
    let server = world.serve(&world.model.url()).await;
    let first = mention("d-1", "ann", "@ars help");
    assert_eq!(post(&server, &first).await.0, 202);
    world.answered("coding").await;
    for (header, forged) in [
        ("x-github-delivery", "d-2"),
        ("x-github-event", "pull_request_review_comment"),
    ] {
        let mut again = first.clone();
        for (name, value) in &mut again.headers {
            if *name == header || *name == "x-github-delivery" {
                *value = forged.to_owned();
            }
        }
        let (status, body) = post(&server, &again).await;
        assert!(
            status == 200 && body["ignored"].is_string(),
            "{header}: {status} {body}"
        );
    }
    server.terminate().await.assert_code(0);
    assert_eq!(world.comments()[0].edits, 0);
}

/// A command answers without a run. A review request and a failed check need the repository.
#[tokio::test]
async fn events_are_served_by_their_kind() {
    let world = world([]).await;
    let server = world.serve(&world.model.url()).await;
    assert_eq!(
        post(&server, &mention("d-1", "ann", "@ars help")).await.0,
        202
    );
    world.answered("coding").await;
    world.github.change("acme/app", |repository| {
        repository.items.get_mut(&1).unwrap().comments.clear();
    });
    // The repository is not configured, so both are answered by refusing their user's request.
    let review = review_requested("acme/app", 1, "ann", &world.head);
    assert_eq!(
        post(&server, &sign(SECRET, "pull_request", "d-2", &review))
            .await
            .0,
        202
    );
    world.answered("epositor").await;
    world.github.change("acme/app", |repository| {
        repository.items.get_mut(&1).unwrap().comments.clear();
    });
    let check = checked("acme/app", 1, "ars/r1/fix", &world.head);
    assert_eq!(
        post(&server, &sign(SECRET, "check_run", "d-3", &check))
            .await
            .0,
        202
    );
    world.answered("epositor").await;
    // A permanent refusal counts no attempt, and all refused checks share a comment.
    for id in ["d-4", "d-5"] {
        assert_eq!(
            post(&server, &sign(SECRET, "check_run", id, &check))
                .await
                .0,
            202,
            "{id}"
        );
    }
    server.terminate().await.assert_code(0);
    let comments = world.comments();
    assert_eq!((comments.len(), comments[0].edits), (1, 2), "{comments:#?}");
    assert!(world.machine.records().await.is_empty());
}

/// A delivery that was received before does not count for its actor's rate.
#[tokio::test]
async fn repeated_deliveries_do_not_count() {
    let world = world([]).await;
    let server = world
        .serve_with(&world.model.url(), "[limits]\nrequestsPerMinute = 2\n")
        .await;
    let first = mention("d-1", "ann", "@ars help");
    assert_eq!(post(&server, &first).await.0, 202);
    world.answered("coding").await;
    for _ in 0..4 {
        assert_eq!(post(&server, &first).await.0, 200);
    }
    assert_eq!(
        post(&server, &mention("d-2", "ann", "@ars help")).await.0,
        202
    );
    assert_eq!(
        post(&server, &mention("d-3", "ann", "@ars help")).await.0,
        429
    );
    server.terminate().await.assert_code(0);
}

/// The announcement's answer is lost, and the next process continues the run.
/// Both edit the same comment.
#[tokio::test]
async fn lost_answer_and_next_process_edit_the_same_comment() {
    let world = world([Reply::text("Done.")]).await;
    let (gate, model) = gated(&world.model.url()).await;
    let server = world.serve(&model).await;
    world
        .github
        .fail("POST /repos/acme/app/issues/1/comments", Fault::LostAnswer);
    assert_eq!(
        post(&server, &mention("d-1", "ann", "@ars do it")).await.0,
        202
    );
    world.answered("Working on it.").await;
    gate.open();
    world.answered("Done.").await;
    server.terminate().await.assert_code(0);

    let run = world.machine.record().await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let row = json!({
        "runId": run, "threadKey": "github:acme/app:1", "ownerGen": "g2", "leaseUntil": 1, "startedAt": 1,
        "phase": "live", "stop": null, "meta": {}, "card": null, "system": "", "tools": [], "state": {},
    });
    let row = serde_json::from_value(row).unwrap();
    // The comments were written by the app, so a user's token does not find them as its own.
    let app = world.github.app();
    let secret = Secret::parse(Some(app.private_key)).unwrap();
    let host = GitHub::new(GitHubSettings {
        host: Host::parse(&world.github.url()).unwrap(),
        credentials: Credentials::App {
            app_id: app.id,
            installation: app.installation,
            key: Box::new(ars_bot_adapters::code_host::AppKey::parse(&secret).unwrap()),
        },
        clock: Arc::new(Fixed),
        pause: Arc::new(TokioPause),
        randomness: Randomness::default(),
    });
    let channel = CommentChannel::reopen(&row, Arc::new(host.unwrap()), None).unwrap();
    channel
        .send(ChannelEvent::Reply("Done by the next process.".into()))
        .await
        .unwrap();
    let comment = world.answered("next process").await;
    assert!(
        !comment.body.contains("Working") && comment.edits >= 2,
        "{comment:?}"
    );
}
