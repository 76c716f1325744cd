//! Thread admission, with whole requests against a scripted model.

use std::sync::Arc;

use ars_agent::Part;
use ars_auth::{Grants, Restrictions, Set};
use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_ports::{ChannelEvent, IncomingMessage, Ledger as _, StoreErrorKind, event_key};
use ars_types::{Generation, Platform, RunId, RunStatus};
use ars_wire::{Moment, ledger::NewRun};
use serde_json::json;

use crate::support::*;

pub fn last_text(world: &World) -> String {
    let seen = world.model.seen.lock().unwrap();
    let texts = seen
        .last()
        .unwrap()
        .last()
        .unwrap()
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.clone()),
            _ => None,
        });
    texts.collect()
}

#[tokio::test]
async fn second_message_steers_the_live_run() {
    let world = Arc::new(world(vec![
        Move::SayWhenReleased("all done"),
        Move::Say("all done, in German too"),
    ]));
    let (first, running) = under_way(&world, "translate it").await;
    let second = say(&world, message("in German too")).await;
    let ack = second.said()[0].clone();
    assert!(
        ack.starts_with('↪') && ack.contains("general") && ack.contains("/runs/"),
        "{ack}"
    );
    assert!(second.started().is_empty());
    world.finish_and_settle(running).await;
    assert_eq!(first.said(), ["all done, in German too"]);
    assert!(last_text(&world).contains("in German too"));
    let record = world.last_record();
    let told = [
        "input",
        "run_meta",
        "assistant",
        "input",
        "run_note follow_up",
        "answer",
    ];
    assert_eq!(outline(&record), told);
}

#[tokio::test]
async fn message_for_another_agent_is_refused() {
    let world = Arc::new(world(vec![Move::HangUntilStopped]));
    let (_, running) = under_way(&world, "hello").await;
    let other = say(&world, message("agent:coding repo:acme/app fix it")).await;
    assert!(other.said()[0].starts_with('⏳'));
    world.stop_hard();
    running.await.unwrap();
    world.settle().await;
    assert!(!outline(&world.last_record()).contains(&"run_note follow_up".to_owned()));
}

#[tokio::test]
async fn steering_needs_the_runs_permissions() {
    let ann = Grants {
        actions: Set::only(&["agent:run:coding"]),
        repos: Set::only(&["acme/app"]),
        ..Grants::default()
    };
    let agents = Restrictions {
        agents: ["coding".to_owned()].into(),
        ..Restrictions::default()
    };
    let repos = Restrictions {
        repos: ["acme/app".to_owned()].into(),
        ..Restrictions::default()
    };
    for (restrictions, word) in [(agents, "agent"), (repos, "repository")] {
        let world = world_of(
            vec![Move::HangUntilStopped],
            Capabilities::default(),
            |settings| Settings {
                restrictions,
                grants: [("http:ann".to_owned(), ann.clone())].into(),
                ..settings
            },
        );
        let world = Arc::new(world);
        let (_, running) = under_way(&world, "agent:coding repo:acme/app fix it").await;
        let bob = ars_auth::Actor::new("http:bob", Grants::default());
        let refused = say(
            &world,
            IncomingMessage {
                actor: bob,
                ..message("and print the keys")
            },
        )
        .await;
        let passed_on = say(&world, message("and the tests")).await;
        world.stop_hard();
        running.await.unwrap();
        world.settle().await;
        let refused = refused.said();
        assert!(
            refused.len() == 1 && refused[0].starts_with('⛔') && refused[0].contains(word),
            "{refused:?}"
        );
        assert!(passed_on.said()[0].starts_with('↪'));
    }
}

/// Another process's run in the thread of `message`, with an unreadable row if it has no agent.
pub async fn held_elsewhere(ledger: &ScriptedLedger, agent: Option<&str>) -> RunId {
    let run_id = RunId::parse("elsewhere").unwrap();
    let mut meta = json!({
        "model": "scripted/m", "channelId": "http:default", "userId": "http:ann", "repo": "acme/app",
        "threadKey": "http:default:default", "label": "x", "receivedAt": 1
    });
    if let Some(agent) = agent {
        meta["agent"] = json!(agent);
    }
    let run = NewRun {
        run_id: run_id.clone(),
        thread_key: "http:default:default".into(),
        generation: Generation::parse("g1").unwrap(),
        lease_ms: 30_000,
        started_at: Moment::from(1),
        meta: meta.as_object().unwrap().clone(),
        card: None,
        system: String::new(),
        tools: Vec::new(),
        state: None,
        idempotency: None,
    };
    ledger.claim(&run).await.unwrap();
    run_id
}

#[tokio::test]
async fn remote_steering_needs_the_runs_permissions() {
    let agents = Restrictions {
        agents: ["coding".to_owned()].into(),
        ..Restrictions::default()
    };
    let repos = Restrictions {
        repos: ["acme/app".to_owned()].into(),
        ..Restrictions::default()
    };
    for (restrictions, agent, said) in [
        (
            agents,
            Some("coding"),
            "⛔ Sorry, you may not run the coding agent",
        ),
        (
            repos,
            Some("coding"),
            "⛔ Sorry, you may not use that repository",
        ),
        (
            Restrictions::default(),
            None,
            "⏳ Another process works in this thread",
        ),
        (
            Restrictions::default(),
            Some("coding"),
            "↪️ Passed on to the coding agent",
        ),
    ] {
        let ledger = Arc::new(ScriptedLedger::default());
        let run = held_elsewhere(&ledger, agent).await;
        let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
        let settings = |settings| Settings {
            restrictions,
            ..settings
        };
        let world = world_of(Vec::new(), ledger.capability("g2", channels), settings);
        let io = say(&world, message("and print the keys")).await;
        let replies = io.said();
        assert!(
            replies.len() == 1 && replies[0].starts_with(said),
            "{said}: {replies:?}"
        );
        let inbox = ledger.runs()[&run].inbox.len();
        assert_eq!(inbox, usize::from(said.starts_with('↪')), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn unconfirmed_remote_follow_up_is_reported() {
    for (request, said) in [
        (
            "live",
            "⏳ Another process works in this thread, and its run is not known at the moment.",
        ),
        (
            "inbox",
            "⏳ The coding agent works in this thread in another process, and may not have received this",
        ),
    ] {
        let ledger = Arc::new(ScriptedLedger::default());
        held_elsewhere(&ledger, Some("coding")).await;
        ledger.script(request, [Fault::Fail(StoreErrorKind::Permanent)]);
        let world = ledger.process("g2", Vec::new());
        let io = say(&world, message("and the tests")).await;
        let replies = io.said();
        assert!(
            replies.len() == 1 && replies[0].starts_with(said),
            "{request}: {replies:?}"
        );
        assert!(io.started().is_empty());
    }
}

#[tokio::test]
async fn stopped_run_returns_unread_follow_ups() {
    let world = Arc::new(world(vec![Move::HangUntilStopped]));
    let (_, running) = under_way(&world, "hello").await;
    let second = say(&world, message("and this")).await;
    world.stop_hard();
    running.await.unwrap();
    world.settle().await;
    let replies = second.said();
    assert!(
        replies.len() == 2 && replies[1].starts_with('⏹'),
        "{replies:?}"
    );
    assert_eq!(
        world.records().last().unwrap().status,
        RunStatus::StoppedHard
    );
}

#[tokio::test]
async fn failed_run_requeues_unread_follow_ups() {
    let world = Arc::new(world(vec![
        Move::FailWhenReleased,
        Move::Say("both answered"),
    ]));
    let (first, running) = under_way(&world, "hello").await;
    let second = say(&world, message("one more")).await;
    let third = say(&world, message("and another")).await;
    world.finish_and_settle(running).await;
    assert!(first.said()[0].starts_with('❌'));
    assert_eq!(second.said().len(), 1);
    assert_eq!(third.said()[1], "both answered");
    assert_eq!(last_text(&world), "one more\n\nand another");
    let statuses: Vec<_> = world.records().iter().map(|record| record.status).collect();
    assert!(
        statuses.contains(&RunStatus::Failed) && statuses.contains(&RunStatus::Completed),
        "{statuses:?}"
    );
}

/// A platform delivers an event again to the process that continues its run.
#[tokio::test]
async fn message_does_not_steer_the_run_that_it_started() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = Arc::new(ledger.process("g1", vec![Move::SayWhenReleased("one")]));
    let request = IncomingMessage {
        idempotency: Some(event_key(Platform::Slack, b"m")),
        ..message("hello")
    };
    let running = send(&world, request.clone(), &Arc::default());
    world.model.called.notified().await;
    let again = say(&world, request).await;
    assert!(matches!(again.events()[..], [ChannelEvent::Repeated(_)]));
    world.finish_and_settle(running).await;
    assert_eq!(last_text(&world), "hello");
}
