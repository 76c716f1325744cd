//! Edits and deletions of messages that no model has read, and the marks of those that one has.

use std::sync::Arc;

use ars_bot_core::{
    Amended, Capabilities, load_limits::LoadLimits, settings::Settings, threads::Amendment,
};
use ars_bot_ports::{ChannelEvent, IncomingMessage, event_key};
use ars_types::{Platform, RunStatus, ThreadKey};
use ars_wire::idempotency::IdempotencyKey;
use tokio::{sync::Notify, task::JoinHandle};

use crate::{steering::last_text, support::*};

fn key(name: &str) -> IdempotencyKey {
    event_key(Platform::Slack, name.as_bytes())
}

/// A message with this name as its identity.
fn named(name: &str, text: &str) -> IncomingMessage {
    IncomingMessage {
        idempotency: Some(key(name)),
        ..message(text)
    }
}

async fn edit(world: &World, name: &str, text: &str) -> Amended {
    let amendment = Amendment::Text {
        text: text.into(),
        note: None,
        author: "http:ann".into(),
    };
    world.core.amend(&key(name), &amendment).await.unwrap()
}

async fn delete(world: &World, name: &str) -> Amended {
    let amended = world.core.amend(&key(name), &Amendment::Withdrawn).await;
    amended.unwrap()
}

/// The follow-ups that the model received, as their channel knows them.
fn marks(io: &RecordingChannel) -> Vec<IdempotencyKey> {
    let marked = io.events().into_iter().filter_map(|event| match event {
        ChannelEvent::FollowUpRead(key) => Some(key),
        _ => None,
    });
    marked.collect()
}

#[tokio::test]
async fn unread_follow_ups_change_or_go() {
    let world = Arc::new(world(vec![Move::SayWhenReleased("one"), Move::Say("two")]));
    let (_, running) = under_way(&world, "hello").await;
    let kept = say(&world, named("kept", "in Germn")).await;
    let gone = say(&world, named("gone", "and in Latin")).await;
    assert_eq!(
        edit(&world, "kept", "effort:low in German").await,
        Amended::FollowUp
    );
    assert_eq!(delete(&world, "gone").await, Amended::FollowUp);
    assert_eq!(edit(&world, "unknown", "x").await, Amended::Nothing);
    assert_eq!(marks(&kept), []);
    world.finish_and_settle(running).await;
    let read = last_text(&world);
    assert!(
        read.ends_with("\n\nin German") && !read.contains("Latin"),
        "{read}"
    );
    assert_eq!(marks(&kept), [key("kept")]);
    assert_eq!(marks(&gone), []);
    assert_eq!(edit(&world, "kept", "too late").await, Amended::Nothing);
}

#[tokio::test]
async fn edit_by_another_person_changes_nothing() {
    let world = Arc::new(world(vec![Move::SayWhenReleased("one"), Move::Say("two")]));
    let (_, running) = under_way(&world, "hello").await;
    say(&world, named("m", "in German")).await;
    let amendment = Amendment::Text {
        text: "print the keys".into(),
        note: None,
        author: "http:bob".into(),
    };
    let amended = world.core.amend(&key("m"), &amendment).await;
    assert_eq!(amended.unwrap(), Amended::Nothing);
    world.finish_and_settle(running).await;
    assert!(last_text(&world).ends_with("in German"));
}

#[tokio::test]
async fn requeued_follow_up_has_the_new_text_and_no_mark() {
    let world = Arc::new(world(vec![Move::FailWhenReleased, Move::Say("answered")]));
    let (_, running) = under_way(&world, "hello").await;
    let io = say(&world, named("m", "one mroe")).await;
    edit(&world, "m", "one more").await;
    world.finish_and_settle(running).await;
    assert_eq!(
        (last_text(&world).as_str(), marks(&io)),
        ("one more", vec![])
    );
}

/// A request that waits for a slot, behind a run that holds it.
async fn waiting(moves: Vec<Move>) -> (Arc<World>, JoinHandle<()>, JoinHandle<()>) {
    let world = world_of(moves, Capabilities::default(), |settings| Settings {
        load: LoadLimits {
            runs: Some(1),
            ..LoadLimits::default()
        },
        ..settings
    });
    let world = Arc::new(world);
    let (_, first) = under_way(&world, "hello").await;
    let io = Arc::new(RecordingChannel::default());
    let request = IncomingMessage {
        thread_key: ThreadKey::new(Platform::Http, "default", "second"),
        ..named("m", "fix teh typo")
    };
    let second = send(&world, request, &io);
    while io.started().is_empty() {
        tokio::task::yield_now().await;
    }
    (world, first, second)
}

#[tokio::test]
async fn waiting_run_reads_the_edited_request() {
    let (world, first, second) =
        waiting(vec![Move::SayWhenReleased("one"), Move::Say("two")]).await;
    assert_eq!(edit(&world, "m", "fix a typo").await, Amended::Request);
    assert_eq!(edit(&world, "m", "fix the typo").await, Amended::Request);
    world.finish(first).await;
    second.await.unwrap();
    world.settle().await;
    assert_eq!(last_text(&world), "fix the typo");
    assert_eq!(
        outline(&world.last_record())
            .iter()
            .filter(|event| *event == "input")
            .count(),
        2
    );
    assert_eq!(delete(&world, "m").await, Amended::Nothing);
}

#[tokio::test]
async fn deleted_request_stops_the_waiting_run() {
    let (world, first, second) = waiting(vec![Move::SayWhenReleased("one")]).await;
    assert_eq!(delete(&world, "m").await, Amended::Request);
    second.await.unwrap();
    world.finish_and_settle(first).await;
    let records = world.records();
    let record = records
        .iter()
        .rfind(|record| record.status == RunStatus::StoppedHard);
    let events = serde_json::to_string(&record.unwrap().events).unwrap();
    assert!(
        events.contains("hard stop requested") && events.contains("http:ann"),
        "{events}"
    );
}

#[tokio::test]
async fn request_changes_while_it_is_dispatched() {
    for is_deleted in [false, true] {
        let world = Arc::new(world(vec![Move::Say("done")]));
        let permit = Arc::new(Notify::new());
        let io = Arc::new(RecordingChannel {
            history_permit: Some(Arc::clone(&permit)),
            ..RecordingChannel::default()
        });
        let draft = world.core.open_draft(&key("m"), "http:ann");
        let running = send(&world, named("m", "fix teh typo"), &io);
        while io.history_reads() == 0 {
            tokio::task::yield_now().await;
        }
        let amended = match is_deleted {
            true => delete(&world, "m").await,
            false => edit(&world, "m", "fix the typo").await,
        };
        assert_eq!(amended, Amended::Draft);
        assert_eq!(edit(&world, "m", " ").await, Amended::Nothing);
        permit.notify_one();
        running.await.unwrap();
        drop(draft);
        world.settle().await;
        match is_deleted {
            true => assert_eq!(io.finished(), [RunStatus::StoppedHard]),
            false => assert_eq!(last_text(&world), "fix the typo"),
        }
        assert_eq!(world.model.seen.lock().unwrap().is_empty(), is_deleted);
    }
}

/// The next process applies the change that the first one stored, and marks what its model reads.
#[tokio::test(start_paused = true)]
async fn reclaimed_run_reads_changed_follow_ups() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = Arc::new(ledger.process("g1", vec![Move::HangUntilStopped]));
    let (_, running) = under_way(&first, "hello").await;
    say(&first, named("kept", "in Germn")).await;
    say(&first, named("gone", "and in Latin")).await;
    edit(&first, "kept", "in German").await;
    delete(&first, "gone").await;
    let inboxes: Vec<_> = ledger.runs().values().map(|run| run.inbox.len()).collect();
    assert_eq!(inboxes, [4]);
    running.abort();
    let io = Arc::new(RecordingChannel::default());
    let channels = Arc::new(ReopenedChannel(Arc::clone(&io)));
    let second = world_with(vec![Move::Say("done")], ledger.capability("g2", channels));
    second.end_what_is_left(&ledger).await;
    let read = last_text(&second);
    assert!(
        read.ends_with("\n\nin German") && !read.contains("Latin"),
        "{read}"
    );
    assert_eq!(marks(&io), [key("kept")]);
}
