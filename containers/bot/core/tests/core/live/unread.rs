//! Reclaimed runs with an unreadable conversation or unreadable events (docs/decisions/0013).

use std::{sync::Arc, time::Duration};

use ars_bot_core::threads::Note;
use ars_bot_ports::StoreErrorKind;
use ars_runs::RunRecord;
use ars_types::{Generation, RunStatus};
use ars_wire::transcript::Attachment;
use serde_json::json;

use super::world_of;
use crate::support::*;

/// More failures than any retry budget allows.
const FOR_EVER: usize = 1000;

/// A process that reclaims a run with a stored step.
async fn taken_over() -> (Arc<ScriptedLedger>, World) {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&first, "hello").await;
    running.abort();
    let second = ledger.process("g2", vec![Move::Say("done")]);
    (ledger, second)
}

/// Returns the record of a run that is reclaimed while these requests fail.
async fn recorded(
    name: &'static str,
    faults: impl IntoIterator<Item = Fault>,
) -> (RunRecord, Arc<ScriptedLedger>) {
    let (ledger, second) = taken_over().await;
    ledger.script(name, faults);
    let record = second.end_what_is_left(&ledger).await;
    assert!(ledger.runs().is_empty(), "its thread is free");
    (record, ledger)
}

#[tokio::test(start_paused = true)]
async fn rejected_conversation_closes_the_run() {
    let fault = Fault::Fail(StoreErrorKind::Permanent);
    for name in ["transcript.read", "transcript.owner"] {
        let (record, ledger) = recorded(name, [fault]).await;
        assert_eq!(record.status, RunStatus::Interrupted, "{name}");
        assert_eq!(ledger.count("heartbeat"), 0);
        assert!(!record.truncated, "its events are all there");
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_conversation_closes_the_run_eventually() {
    let began = tokio::time::Instant::now();
    let (record, ledger) = recorded(
        "transcript.read",
        [Fault::Fail(StoreErrorKind::Transient); FOR_EVER],
    )
    .await;
    assert_eq!(record.status, RunStatus::Interrupted);
    assert!(
        began.elapsed().as_secs() >= 50,
        "an object that is overloaded for a while costs no run"
    );
    assert!(ledger.count("heartbeat") > 1, "its lease is kept meanwhile");
}

#[tokio::test(start_paused = true)]
async fn total_outage_is_waited_out() {
    let (ledger, second) = taken_over().await;
    // Ten minutes, and more passes than failed reads allow. From the fourth pass on the lease may
    // have expired.
    ledger.script(
        "transcript.owner",
        [Fault::Fail(StoreErrorKind::Transient); 6],
    );
    ledger.script("heartbeat", [Fault::Fail(StoreErrorKind::Transient); 120]);
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Completed);
    assert_eq!(
        ledger.count("transcript.owner"),
        8,
        "once in each process it changed hands"
    );
    assert_eq!(
        ledger.count("heartbeat"),
        121,
        "it is asked of nobody else meanwhile"
    );
}

#[tokio::test(start_paused = true)]
async fn failed_ownership_change_is_retried() {
    let (record, ledger) = recorded(
        "transcript.owner",
        [Fault::Fail(StoreErrorKind::Transient); 3],
    )
    .await;
    assert_eq!(record.status, RunStatus::Completed);
    let asked = ledger.asked.lock().unwrap().clone();
    let last = |name| asked.iter().rposition(|asked| *asked == name).unwrap();
    assert!(
        last("transcript.owner") < last("transcript.read"),
        "whoever may write it still is asked first"
    );
}

#[tokio::test(start_paused = true)]
async fn partitioned_process_does_not_reclaim_the_transcript() {
    // It learns that after the attempt, or asks before the next attempt.
    for heartbeats in [Vec::new(), vec![Fault::Fail(StoreErrorKind::Transient)]] {
        let (ledger, second) = taken_over().await;
        ledger.script("heartbeat", heartbeats);
        ledger.script(
            "transcript.read",
            [Fault::StandStill(Duration::from_secs(40))],
        );
        let owners = ledger.count("transcript.owner");
        let keeping = second.keep_ledger();
        ledger
            .until(|ledger| ledger.count("transcript.read") > 0)
            .await;
        ledger
            .runs()
            .values_mut()
            .for_each(|kept| kept.row.owner_gen = Generation::parse("g3").unwrap());
        second.settle().await;
        keeping.abort();
        assert_eq!(
            ledger.count("transcript.owner"),
            owners + 1,
            "only before it was cut off"
        );
        assert!(
            ledger.records.lock().unwrap().is_empty(),
            "the run is the other process's to end"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_events_are_noted_in_the_record() {
    let (record, _) = recorded("live_events", [Fault::Fail(StoreErrorKind::Permanent)]).await;
    assert_eq!(record.status, RunStatus::Interrupted);
    assert!(
        record.event_count > 0,
        "its step says how many there were at least"
    );
    assert_eq!(
        record.truncated,
        record.event_count > record.stored_event_count
    );
}

#[tokio::test(start_paused = true)]
async fn notes_follow_the_unreadable_events() {
    let (ledger, second) = taken_over().await;
    ledger.script("live_events", [Fault::Fail(StoreErrorKind::Permanent)]);
    for kept in ledger.runs().values_mut() {
        kept.steps.values_mut().for_each(|step| step.seq = 40);
        kept.inbox
            .push(Note::from_message(&message("late"), "late").message());
    }
    let record = second.end_what_is_left(&ledger).await;
    let note = record.events.last().unwrap();
    assert_eq!(
        (note["kind"].as_str(), note["seq"].as_u64()),
        (Some("follow_up"), Some(41))
    );
    assert_eq!((record.event_count, record.truncated), (41, true));
}

#[tokio::test(start_paused = true)]
async fn rejected_record_is_written_without_events() {
    let (ledger, second) = taken_over().await;
    for kept in ledger.runs().values_mut() {
        kept.events.insert(
            30,
            json!({"type": "run_note", "kind": "context", "summary": "x", "seq": 30}),
        );
    }
    ledger.script(
        "transcript.read",
        [Fault::Fail(StoreErrorKind::Permanent); FOR_EVER],
    );
    ledger.script("finish", [Fault::Fail(StoreErrorKind::Refused); 3]);
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Interrupted);
    assert!(record.events.iter().all(|event| event["seq"] != 30));
    assert!(ledger.runs().is_empty(), "its thread is free");
}

#[tokio::test(start_paused = true)]
async fn unclosable_run_does_not_delay_the_drain() {
    let (ledger, _) = taken_over().await;
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    let mut capabilities = ledger.capability("g2", channels);
    capabilities.ledger.as_mut().unwrap().has_successor = false;
    let second = world_with(Vec::new(), capabilities);
    ledger.script(
        "transcript.read",
        [Fault::Fail(StoreErrorKind::Permanent); FOR_EVER],
    );
    ledger.script("finish", [Fault::Fail(StoreErrorKind::Permanent); FOR_EVER]);
    let keeping = second.keep_ledger();
    ledger.until(|ledger| ledger.count("finish") > 1).await;
    assert!(second.core.drain(Duration::from_secs(60)).await);
    keeping.abort();
    assert_eq!(ledger.runs().len(), 1, "the next process has it to close");
}

#[tokio::test(start_paused = true)]
async fn closed_run_needs_no_conversation() {
    let (ledger, second) = taken_over().await;
    ledger.script(
        "transcript.read",
        [Fault::Fail(StoreErrorKind::Permanent); FOR_EVER],
    );
    ledger
        .runs()
        .values_mut()
        .for_each(|kept| kept.steps.clear());
    second.end_what_is_left(&ledger).await;
    assert_eq!(
        (
            ledger.count("transcript.read"),
            ledger.records.lock().unwrap().len()
        ),
        (0, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn oversized_conversation_is_not_resumable() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&first, "agent:coding repo:acme/app x").await;
    running.abort();
    // It has no reference, but is read with the rest.
    let large = Attachment {
        name: "t0p9".into(),
        media_type: "image/png".into(),
        data: "A".repeat(30 << 20),
    };
    ledger
        .transcripts
        .lock()
        .unwrap()
        .values_mut()
        .for_each(|kept| kept.attachments.push(large.clone()));

    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    let moves = vec![
        Move::Ask(vec![bash("x")]),
        Move::SayWhenReleased("done here"),
    ];
    let second = world_with(moves, ledger.capability("g2", channels)).with_tree();
    let keeping = second.keep_ledger();
    second.model.called.notified().await;
    second.model.called.notified().await;
    assert!(
        ledger
            .runs()
            .values()
            .all(|kept| kept.row.state.contains_key("unresumable"))
    );
    second.model.release.notify_one();
    ledger.recorded().await;
    keeping.abort();
    assert_eq!(
        ledger.records.lock().unwrap()[0].status,
        RunStatus::Completed
    );
}
