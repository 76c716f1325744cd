//! Reclaimed runs with a missing or different working tree (docs/decisions/0013).

use std::sync::Arc;

use ars_bot_ports::{Repository, WorkspaceError};
use ars_types::RunStatus;

use super::world_of;
use crate::support::*;

const CODING: &str = "agent:coding repo:acme/app ref:topic x";

fn repository(name: &str, origin: &str) -> Repository {
    Repository {
        name: name.into(),
        origin: origin.into(),
    }
}

/// A run with a stored command's step, killed during the next, and a reclaiming process with this tree.
async fn left_to(
    ledger: &Arc<ScriptedLedger>,
    text: &'static str,
    own: Option<Repository>,
) -> World {
    let first = world_of(
        ledger,
        vec![Move::Ask(vec![bash("touch done")]), Move::HangUntilStopped],
    );
    let (_, running) = under_way(&first, text).await;
    first.model.called.notified().await;
    running.abort();
    let second = ledger.process("g2", vec![Move::Say("done")]);
    *second.workspace.own.lock().unwrap() = own;
    second
}

#[tokio::test(start_paused = true)]
async fn missing_tree_closes_the_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let second = left_to(&ledger, CODING, None).await;
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Interrupted);
    assert!(
        second.model.seen.lock().unwrap().is_empty(),
        "no model is asked about files that are not there"
    );
    assert_eq!(outline(&record).pop().unwrap(), "run_note sandbox_dead");
    let note = record.events.last().unwrap()["summary"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(note.contains("working tree is gone"), "{note}");
    assert_eq!(record.event_count, record.stored_event_count);
}

#[tokio::test(start_paused = true)]
async fn tree_of_another_repository_closes_the_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let second = left_to(&ledger, CODING, Some(repository("acme/other", "/other"))).await;
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Interrupted);
    let note = record.events.last().unwrap()["summary"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(note.contains("another repository"), "{note}");
}

#[tokio::test(start_paused = true)]
async fn transient_disk_failure_is_retried() {
    let ledger = Arc::new(ScriptedLedger::default());
    let second = left_to(&ledger, CODING, Some(repository("acme/app", "/app"))).await;
    let failures = [
        WorkspaceError::Infra("too many open files".into()),
        WorkspaceError::Busy,
    ];
    second.workspace.failing.lock().unwrap().extend(failures);
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn permanent_disk_failure_closes_the_run() {
    let began = tokio::time::Instant::now();
    let ledger = Arc::new(ScriptedLedger::default());
    let second = left_to(&ledger, CODING, Some(repository("acme/app", "/app"))).await;
    let failures = std::iter::repeat_with(|| WorkspaceError::Infra("broken".into())).take(1000);
    second.workspace.failing.lock().unwrap().extend(failures);
    second.end_what_is_left(&ledger).await;
    assert!((50..120).contains(&began.elapsed().as_secs()));
    assert!(ledger.count("heartbeat") > 1, "its lease is kept meanwhile");
    let record = ledger.records.lock().unwrap()[0].clone();
    assert_eq!(record.status, RunStatus::Interrupted);
    assert_eq!(outline(&record).pop().unwrap(), "run_note sandbox_dead");
}

#[tokio::test(start_paused = true)]
async fn run_resumes_under_any_name_of_its_place() {
    // Its name, also if it was cloned from elsewhere, or its configured place.
    for own in [
        repository("acme/app", "/moved"),
        repository("origin:/app", "/app/"),
    ] {
        let ledger = Arc::new(ScriptedLedger::default());
        let second = left_to(&ledger, CODING, Some(own)).await;
        let record = second.end_what_is_left(&ledger).await;
        assert_eq!(record.status, RunStatus::Completed);
        let asked = second.workspace.asked_for.lock().unwrap().clone();
        assert_eq!(
            asked,
            [(None, Some("topic".to_owned()))],
            "a ref it was begun at is asked for again"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn run_without_tree_resumes() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&first, "hello").await;
    running.abort();
    let second = ledger.process("g2", vec![Move::Say("done")]);
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Completed);
    assert!(second.workspace.asked_for.lock().unwrap().is_empty());
}

/// A resumed run's tree comes from the last checkpoint, and the model is informed.
#[tokio::test(start_paused = true)]
async fn model_is_informed_of_a_restored_tree() {
    let ledger = Arc::new(ScriptedLedger::default());
    let second = left_to(&ledger, CODING, Some(repository("acme/app", "/app"))).await;
    second
        .workspace
        .restored_from
        .set("refs/ars/r/2".into())
        .unwrap();
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Completed);
    let seen = format!("{:?}", second.model.seen.lock().unwrap()[0].last().unwrap());
    assert!(
        seen.contains("made again from the checkpoint `refs/ars/r/2`"),
        "{seen}"
    );
    assert!(
        outline(&record).contains(&"run_note tree".to_owned()),
        "{:?}",
        outline(&record)
    );
}

#[tokio::test(start_paused = true)]
async fn next_run_is_informed_of_a_restored_tree() {
    let world = world(vec![Move::Say("done")]);
    world
        .workspace
        .restored_from
        .set("refs/ars/r/2".into())
        .unwrap();
    world.ask(CODING).await;
    let seen = format!("{:?}", world.model.seen.lock().unwrap()[0].last().unwrap());
    assert!(
        seen.contains("made again from the checkpoint `refs/ars/r/2`"),
        "{seen}"
    );
    assert!(outline(&world.last_record()).contains(&"run_note tree".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn tree_is_saved_every_few_steps_and_at_the_end() {
    let read = || Move::Ask(vec![("read_file", serde_json::json!({ "path": "a" }))]);
    let write = || Move::Ask(vec![bash("touch a")]);
    let world = world(vec![
        write(),
        read(),
        write(),
        write(),
        write(),
        Move::Say("done"),
    ]);
    world
        .workspace
        .is_saved
        .store(true, std::sync::atomic::Ordering::SeqCst);
    world.ask(CODING).await;
    let record = world.last_record();
    let notes: Vec<_> = outline(&record)
        .into_iter()
        .filter(|event| event != "run_meta")
        .collect();
    let saves = notes
        .iter()
        .filter(|event| *event == "run_note tree")
        .count();
    assert_eq!(saves, 2, "{notes:?}");
    // Behind the third step with side effects, and before the answer.
    assert_eq!(
        notes
            .iter()
            .filter(|event| *event == "tool_call bash")
            .count(),
        4
    );
    let first = notes
        .iter()
        .position(|event| event == "run_note tree")
        .unwrap();
    assert_eq!(
        notes[..first]
            .iter()
            .filter(|event| *event == "tool_call bash")
            .count(),
        3,
        "{notes:?}"
    );
    assert_eq!(notes[notes.len() - 2..], ["run_note tree", "answer"]);
    assert_eq!(
        record.extra["checkpoint"],
        format!("refs/ars/{}/2", record.id)
    );
    let note = record
        .events
        .iter()
        .rev()
        .find(|event| event["kind"] == "tree")
        .unwrap();
    let expected = format!(
        "saved as refs/ars/{}/2 0123456789ab, without secrets",
        record.id
    );
    assert!(
        note["summary"].as_str().unwrap().starts_with(&expected),
        "{note}"
    );
}

/// A stop does not cancel the checkpoint.
#[tokio::test(start_paused = true)]
async fn stopped_run_is_saved() {
    let world = Arc::new(world(vec![Move::HangUntilStopped]));
    world
        .workspace
        .is_saved
        .store(true, std::sync::atomic::Ordering::SeqCst);
    let (_, running) = under_way(&world, CODING).await;
    world.stop_hard();
    running.await.unwrap();
    world.settle().await;
    let record = world.last_record();
    assert_eq!(record.status, RunStatus::StoppedHard);
    assert_eq!(
        record.extra["checkpoint"],
        format!("refs/ars/{}/1", record.id)
    );
}
