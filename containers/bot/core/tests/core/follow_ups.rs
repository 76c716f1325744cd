//! Follow-ups that could have no run, that name another place, or that stay unread.

use std::sync::Arc;

use ars_bot_core::{Capabilities, settings::Settings};
use ars_types::RunStatus;

use crate::{
    steering::{held_elsewhere, last_text},
    support::*,
};

/// Settings where a message without an agent is for the coding agent, which needs a named repository.
fn for_the_coding_agent(settings: Settings) -> Settings {
    Settings {
        default_agent: Some("coding".into()),
        ..settings
    }
}

#[tokio::test]
async fn follow_up_needs_no_repository_or_model() {
    let moves = vec![Move::SayWhenReleased("done"), Move::Say("done, with X")];
    let world = Arc::new(world_of(
        moves,
        Capabilities::default(),
        for_the_coding_agent,
    ));
    let (first, running) = under_way(&world, "agent:general hello").await;
    for text in ["also mention X", "model:nobody/m and Y"] {
        let replies = say(&world, message(text)).await.said();
        assert!(
            replies.len() == 1 && replies[0].starts_with("↪️ Passed on to the general agent"),
            "{replies:?}"
        );
    }
    world.finish_and_settle(running).await;
    assert_eq!(first.said(), ["done, with X"]);
    assert!(last_text(&world).contains("also mention X"));
}

#[tokio::test]
async fn remote_follow_up_needs_no_repository() {
    let ledger = Arc::new(ScriptedLedger::default());
    let run = held_elsewhere(&ledger, Some("coding")).await;
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    let world = world_of(
        Vec::new(),
        ledger.capability("g2", channels),
        for_the_coding_agent,
    );
    let replies = say(&world, message("also mention X")).await.said();
    assert!(
        replies.len() == 1 && replies[0].starts_with("↪️ Passed on to the coding agent"),
        "{replies:?}"
    );
    assert_eq!(ledger.runs()[&run].inbox.len(), 1);
}

#[tokio::test]
async fn refused_message_leaves_the_thread_free() {
    let moves = vec![Move::Say("hello")];
    let world = world_of(moves, Capabilities::default(), for_the_coding_agent);
    for (text, refusal) in [
        ("fix it", "⛔ Sorry, which repository?"),
        ("model:nobody/m agent:general hi", "⚠️"),
    ] {
        let replies = say(&world, message(text)).await.said();
        assert!(
            replies.len() == 1 && replies[0].starts_with(refusal),
            "{replies:?}"
        );
    }
    let io = world.ask("agent:general hello").await;
    assert_eq!(io.said(), ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn refusal_waits_at_most_the_claim_timeout() {
    let ledger = Arc::new(ScriptedLedger::default());
    ledger.script("live", [Fault::Hang]);
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    let world = world_of(
        Vec::new(),
        ledger.capability("g2", channels),
        for_the_coding_agent,
    );
    let replies = say(&world, message("fix it")).await.said();
    assert!(
        replies.len() == 1 && replies[0].starts_with("⛔ Sorry, which repository?"),
        "{replies:?}"
    );
    assert_eq!(ledger.count("live"), 1);
}

#[tokio::test]
async fn unread_follow_up_keeps_its_agent() {
    let moves = vec![Move::FailWhenReleased, Move::Say("both answered")];
    let world = Arc::new(world_of(moves, Capabilities::default(), |settings| {
        Settings {
            default_repository: Some("acme/app".into()),
            ..settings
        }
    }));
    let (_, running) = under_way(&world, "agent:coding fix it").await;
    let second = say(&world, message("one more")).await;
    assert!(second.said()[0].starts_with("↪️ Passed on to the coding agent"));
    world.finish_and_settle(running).await;
    assert_eq!(second.said()[1], "both answered");
    let agents: Vec<_> = world
        .records()
        .iter()
        .map(|record| record.agent.clone())
        .collect();
    assert!(
        agents.len() >= 2
            && agents
                .iter()
                .all(|agent| agent.as_deref() == Some("coding")),
        "{agents:?}"
    );
}

#[tokio::test]
async fn directives_of_another_place_reach_the_model() {
    for (text, told) in [
        ("repo:acme/app ref:dev and the tests", "and the tests"),
        (
            "effort:low ref:main and the tests",
            "ref:main and the tests",
        ),
        (
            "effort:low repo:acme/slow and the tests",
            "repo:acme/slow and the tests",
        ),
        (
            "repo:acme/app ref:main and the tests",
            "repo:acme/app ref:main and the tests",
        ),
        (
            "repo:nobody/knows and the tests",
            "repo:nobody/knows and the tests",
        ),
    ] {
        let world = Arc::new(world(vec![
            Move::SayWhenReleased("done"),
            Move::Say("done too"),
        ]));
        let (_, running) = under_way(&world, "agent:coding repo:acme/app ref:dev fix it").await;
        let second = say(&world, message(text)).await;
        assert!(second.said()[0].starts_with('↪'), "{text}");
        world.finish_and_settle(running).await;
        let input = world
            .last_record()
            .events
            .iter()
            .rfind(|event| event["type"] == "input")
            .unwrap()
            .clone();
        assert_eq!(input["text"], told);
        assert!(last_text(&world).contains(told), "{text}");
    }
}

#[tokio::test]
async fn unread_follow_up_keeps_its_repository() {
    let world = Arc::new(world(vec![Move::FailWhenReleased]));
    let (_, running) = under_way(&world, "agent:coding repo:acme/app fix it").await;
    let second = say(&world, message("repo:acme/broken and there")).await;
    world.finish_and_settle(running).await;
    let replies = second.said();
    assert!(
        replies.len() == 2 && replies[1].contains("not a repository"),
        "{replies:?}"
    );
    let record = world.last_record();
    assert_eq!(
        (record.repo.as_deref(), record.status),
        (Some("acme/broken"), RunStatus::Failed)
    );
}
