//! Unread follow-ups from runs that ended or moved to another process.

use std::sync::Arc;

use ars_auth::{Actor, Ingress, TokenMap};
use ars_bot_core::{Capabilities, threads::Note};
use ars_bot_ports::{IncomingMessage, StoreErrorKind};
use ars_types::{Generation, RunStatus, StopMode};
use ars_wire::ledger::Phase;
use serde_json::json;

use super::{say, world_of};
use crate::support::*;

fn texts_in_inboxes(ledger: &ScriptedLedger) -> Vec<String> {
    let runs = ledger.runs();
    let inboxes = runs.values().flat_map(|kept| &kept.inbox);
    inboxes
        .map(|message| message["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn mailbox_follows_a_reclaimed_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::FailWhenReleased]);
    let (io, running) = under_way(&world, "hello").await;
    ledger.script("inbox", [Fault::Fail(StoreErrorKind::Transient); 2]);
    let second = say(&world, "and this").await;
    assert!(second.said()[0].starts_with('↪'));
    taken_by_another(&ledger);
    world.finish_and_settle(running).await;
    assert!(io.said().is_empty());
    assert_eq!(texts_in_inboxes(&ledger), ["and this"]);
}

/// The run ended elsewhere, so the stop that only this process knows does not reject the follow-up.
#[tokio::test(start_paused = true)]
async fn follow_up_of_a_fenced_stopped_run_becomes_a_turn() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::HangUntilStopped, Move::Say("answered")]);
    let (_, running) = under_way(&world, "hello").await;
    ledger.script("inbox", [Fault::Fail(StoreErrorKind::Transient); 2]);
    let second = say(&world, "and this").await;
    ledger.runs().clear();
    let run = world.core.registry().list().remove(0);
    world
        .core
        .registry()
        .stop_with_token(&run.id, &run.token, StopMode::Hard);
    running.await.unwrap();
    world.settle().await;
    assert_eq!(second.said()[1..], ["answered"]);
}

#[tokio::test(start_paused = true)]
async fn panicked_run_requeues_follow_ups() {
    let ledger = Arc::new(ScriptedLedger::default());
    let list = || Move::Ask(vec![("list_files", json!({}))]);
    let world = world_of(
        &ledger,
        vec![list(), Move::PanicWhenReleased, Move::Say("answered")],
    );
    let (_, running) = under_way(&world, "agent:coding repo:acme/app x").await;
    world.model.called.notified().await;
    let second = say(&world, "and this").await;
    world.finish_and_settle(running).await;
    assert_eq!(second.said()[1..], ["answered"]);
    let failed = ledger.records.lock().unwrap().remove(0);
    assert_eq!(
        (failed.status, failed.step_count),
        (RunStatus::Failed, Some(1))
    );
}

#[tokio::test(start_paused = true)]
async fn unnumbered_follow_up_is_delivered_once() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(
        &ledger,
        vec![Move::SayWhenReleased("first"), Move::Say("both")],
    );
    let (io, running) = under_way(&world, "hello").await;
    // Both attempts take effect, and both answers are lost.
    ledger.script("inbox", [Fault::AnswerLost; 2]);
    say(&world, "and this").await;
    assert_eq!(texts_in_inboxes(&ledger), ["and this", "and this"]);
    let keeping = world.keep_ledger();
    ledger.until(|ledger| ledger.count("flush") > 0).await;
    world.finish_and_settle(running).await;
    keeping.abort();
    assert_eq!(io.said(), ["both"]);
    let told = outline(&ledger.records.lock().unwrap()[0]);
    assert_eq!(
        told.iter()
            .filter(|event| *event == "run_note follow_up")
            .count(),
        1,
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn follow_up_event_precedes_its_step() {
    let ledger = Arc::new(ScriptedLedger::default());
    let ask = Move::Ask(vec![bash("x")]);
    let world = world_of(
        &ledger,
        vec![
            Move::SayWhenReleased("first"),
            ask,
            Move::SayWhenReleased("both"),
        ],
    );
    let (io, running) = under_way(&world, "agent:coding repo:acme/app x").await;
    say(&world, "and this").await;
    // The request with the event fails twice, and the command waits for the third.
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient); 2]);
    world.model.release.notify_one();
    let has_read = |ledger: &ScriptedLedger| {
        let runs = ledger.runs();
        runs.values()
            .flat_map(|kept| kept.steps.values())
            .any(|step| step.inbox_consumed_seq > 0)
    };
    ledger.until(has_read).await;
    let is_told = ledger.runs().values().all(|kept| {
        kept.events
            .values()
            .any(|event| event["kind"] == "follow_up")
    });
    assert!(is_told);
    world.finish(running).await;
    assert_eq!(io.said(), ["both"]);
}

/// A run that fails during a flush outage, with an unread follow-up in the inbox.
async fn failed_in_an_outage(ledger: &Arc<ScriptedLedger>) -> (Arc<World>, Arc<RecordingChannel>) {
    let world = world_of(
        ledger,
        vec![Move::FailWhenReleased, Move::Say("said twice")],
    );
    let (_, running) = under_way(&world, "hello").await;
    let sender = say(&world, "and this").await;
    assert_eq!(texts_in_inboxes(ledger), ["and this"]);
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient); LONG]);
    world.finish(running).await;
    (world, sender)
}

/// More requests than an outage has in these tests.
const LONG: usize = 10_000;

fn taken_by_another(ledger: &ScriptedLedger) {
    ledger
        .runs()
        .values_mut()
        .for_each(|kept| kept.row.owner_gen = Generation::parse("g2").unwrap());
}

/// Waits until the run's thread is released without a final flush: the record is lost, or written.
async fn thread_is_given_up(world: &World, ledger: &ScriptedLedger) {
    ledger
        .until(|ledger| world.core.load().lost_records > 0 || ledger.runs().is_empty())
        .await;
}

#[tokio::test(start_paused = true)]
async fn inbox_of_a_reclaimed_run_goes_to_its_owner() {
    for is_given_up in [false, true] {
        let ledger = Arc::new(ScriptedLedger::default());
        let (world, sender) = failed_in_an_outage(&ledger).await;
        let before = sender.said();
        if is_given_up {
            thread_is_given_up(&world, &ledger).await;
        }
        // Another process reclaims the run during the outage: no further reply here, and no loss.
        taken_by_another(&ledger);
        ledger.mend("flush");
        world.settle().await;
        assert_eq!(sender.said(), before);
        assert_eq!(texts_in_inboxes(&ledger), ["and this"]);
    }
}

#[tokio::test(start_paused = true)]
async fn inbox_is_requeued_once_ownership_is_confirmed() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (world, sender) = failed_in_an_outage(&ledger).await;
    thread_is_given_up(&world, &ledger).await;
    ledger.mend("flush");
    world.settle().await;
    assert_eq!(sender.said().last().unwrap(), "said twice");
    assert_eq!(
        (
            ledger.records.lock().unwrap().len(),
            world.core.load().lost_records
        ),
        (2, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn inbox_of_a_run_ended_in_an_outage_is_requeued() {
    for failures in [4, LONG] {
        let ledger = Arc::new(ScriptedLedger::default());
        let world = world_of(
            &ledger,
            vec![
                Move::SayWhenReleased("first"),
                Move::Say("late, but answered"),
            ],
        );
        let (io, running) = under_way(&world, "hello").await;
        ledger.script(
            "flush",
            vec![Fault::Fail(StoreErrorKind::Transient); failures],
        );
        let write = || {
            for kept in ledger.runs().values_mut() {
                kept.inbox
                    .push(Note::from_message(&message("late"), "late").message());
            }
        };
        if failures == LONG {
            world.finish(running).await;
            thread_is_given_up(&world, &ledger).await;
            write();
            ledger.mend("flush");
        } else {
            write();
            world.finish(running).await;
        }
        world.settle().await;
        assert_eq!(io.said(), ["first", "late, but answered"]);
        assert_eq!(ledger.records.lock().unwrap().len(), 2);
    }
}

/// Another process's run in this phase, with an unread follow-up.
async fn left_behind(
    phase: Phase,
    moves: Vec<Move>,
) -> (Arc<ScriptedLedger>, Arc<RecordingChannel>) {
    left_behind_to(phase, moves, message("late"), None).await
}

/// The same with this follow-up, to a process with these tokens.
async fn left_behind_to(
    phase: Phase,
    moves: Vec<Move>,
    late: IncomingMessage,
    tokens: Option<&str>,
) -> (Arc<ScriptedLedger>, Arc<RecordingChannel>) {
    let ledger = Arc::new(ScriptedLedger::default());
    ledger.script("step", [Fault::Fail(StoreErrorKind::Transient); 2]);
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&first, "hello").await;
    running.abort();
    for kept in ledger.runs().values_mut() {
        kept.row.phase = phase;
        kept.row
            .state
            .insert("finalStatus".into(), json!("completed"));
        kept.row.state.insert("replied".into(), json!(true));
        if phase == Phase::Live {
            kept.row.state.clear();
            kept.row.state.insert("system".into(), json!("s"));
        }
        kept.inbox.push(Note::from_message(&late, "late").message());
    }
    let listener = Arc::new(RecordingChannel::default());
    let channels = Arc::new(ReopenedChannel(Arc::clone(&listener)));
    let tokens = tokens.map(|tokens| Arc::new(TokenMap::parse(Some(tokens)).map));
    let second = world_with(
        moves,
        Capabilities {
            tokens,
            ..ledger.capability("g2", channels)
        },
    );
    let keeping = second.keep_ledger();
    ledger.recorded().await;
    second.settle().await;
    keeping.abort();
    (ledger, listener)
}

/// A follow-up from token `t1`.
fn of_token() -> IncomingMessage {
    let sent = TokenMap::parse(Some(r#"{"t1":{"subject":"ann"}}"#)).map;
    let actor = Actor::service(Ingress::Http, sent.authenticate("t1").unwrap());
    IncomingMessage {
        actor,
        ..message("late")
    }
}

#[tokio::test(start_paused = true)]
async fn follow_up_of_a_removed_token_is_dropped() {
    let tokens = Some(r#"{"t2":{"subject":"ann"}}"#);
    let (ledger, listener) = left_behind_to(Phase::Finishing, Vec::new(), of_token(), tokens).await;
    assert_eq!(
        listener.said(),
        ["⛔ The token that sent this message is no longer configured. It was not run:\n\n> late"]
    );
    let records = ledger.records.lock().unwrap();
    let note = records[0].events.last().unwrap();
    let summary = "not read, because its token is no longer configured: late";
    assert_eq!(
        (records.len(), &note["kind"], &note["summary"]),
        (1, &json!("follow_up"), &json!(summary))
    );
}

#[tokio::test(start_paused = true)]
async fn resumed_run_drops_a_follow_up_without_its_token() {
    for (tokens, is_read) in [("{}", false), (r#"{"t1":{"subject":"ann"}}"#, true)] {
        let ledger = Arc::new(ScriptedLedger::default());
        let first = world_of(&ledger, vec![Move::HangUntilStopped]);
        let (_, running) = under_way(&first, "hello").await;
        running.abort();
        for kept in ledger.runs().values_mut() {
            kept.inbox
                .push(Note::from_message(&of_token(), "late").message());
        }
        let tokens = Some(Arc::new(TokenMap::parse(Some(tokens)).map));
        let capabilities = ledger.capability("g2", Arc::new(ReopenedChannel(Arc::default())));
        let second = world_with(
            vec![Move::Say("hi")],
            Capabilities {
                tokens,
                ..capabilities
            },
        );
        let keeping = second.keep_ledger();
        let record = ledger.recorded().await;
        keeping.abort();
        let summaries = record
            .events
            .iter()
            .filter_map(|event| event["summary"].as_str());
        let dropped = "not read, because its token is no longer configured: late";
        assert_eq!(
            summaries.filter(|summary| *summary == dropped).count(),
            usize::from(!is_read)
        );
        let seen = format!("{:?}", second.model.seen.lock().unwrap());
        assert_eq!(
            (record.status, seen.contains("late")),
            (RunStatus::Completed, is_read),
            "{seen}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn follow_up_of_a_kept_token_runs() {
    let tokens = Some(r#"{"t1":{"subject":"ann"}}"#);
    let moves = vec![Move::Say("late, but answered")];
    let (_, listener) = left_behind_to(Phase::Finishing, moves, of_token(), tokens).await;
    assert_eq!(listener.said(), ["late, but answered"]);
}

#[tokio::test(start_paused = true)]
async fn foreign_follow_up_runs_in_its_senders_name() {
    let (ledger, listener) =
        left_behind(Phase::Finishing, vec![Move::Say("late, but answered")]).await;
    assert_eq!(listener.said(), ["late, but answered"]);
    let records = ledger.records.lock().unwrap();
    let fresh = &records[1];
    assert_eq!(
        (records.len(), fresh.status, fresh.user_id.as_str()),
        (2, RunStatus::Completed, "http:ann")
    );
    assert!(
        fresh
            .events
            .iter()
            .any(|event| event["type"] == "input" && event["text"] == "late")
    );
}

#[tokio::test(start_paused = true)]
async fn follow_up_of_an_interrupted_run_is_recorded() {
    let (ledger, listener) = left_behind(Phase::Live, Vec::new()).await;
    assert!(listener.said().is_empty());
    let records = ledger.records.lock().unwrap();
    assert_eq!(
        (records.len(), records[0].status),
        (1, RunStatus::Interrupted)
    );
    let note = records[0].events.last().unwrap();
    assert_eq!(
        (&note["kind"], &note["summary"]),
        (&json!("follow_up"), &json!("not read: late"))
    );
}
