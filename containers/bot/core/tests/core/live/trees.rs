//! Reclaimed runs with a missing or different working tree (docs/decisions/0013).

use std::sync::Arc;

use ars_bot_ports::{Repository, WorkspaceError};
use ars_types::RunStatus;

use super::world_of;
use crate::support::*;

const CODING: &str = "agent:coding repo:acme/app ref:topic x";

fn repository(name: &str, origin: &str) -> Repository {
    Repository { name: name.into(), origin: origin.into() }
}

/// A run with a stored command's step, killed during the next, and a reclaiming process with this tree.
async fn left_to(ledger: &Arc<ScriptedLedger>, text: &'static str, own: Option<Repository>) -> World {
    let first = world_of(ledger, vec![Move::Ask(vec![bash("touch done")]), Move::HangUntilStopped]);
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
    assert!(second.model.seen.lock().unwrap().is_empty(), "no model is asked about files that are not there");
    assert_eq!(outline(&record).pop().unwrap(), "run_note sandbox_dead");
    let note = record.events.last().unwrap()["summary"].as_str().unwrap().to_owned();
    assert!(note.contains("working tree is gone"), "{note}");
    assert_eq!(record.event_count, record.stored_event_count);
}

#[tokio::test(start_paused = true)]
async fn tree_of_another_repository_closes_the_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let second = left_to(&ledger, CODING, Some(repository("acme/other", "/other"))).await;
    let record = second.end_what_is_left(&ledger).await;
    assert_eq!(record.status, RunStatus::Interrupted);
    let note = record.events.last().unwrap()["summary"].as_str().unwrap().to_owned();
    assert!(note.contains("another repository"), "{note}");
}

#[tokio::test(start_paused = true)]
async fn transient_disk_failure_is_retried() {
    let ledger = Arc::new(ScriptedLedger::default());
    let second = left_to(&ledger, CODING, Some(repository("acme/app", "/app"))).await;
    let failures = [WorkspaceError::Infra("too many open files".into()), WorkspaceError::Busy];
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
    for own in [repository("acme/app", "/moved"), repository("origin:/app", "/app/")] {
        let ledger = Arc::new(ScriptedLedger::default());
        let second = left_to(&ledger, CODING, Some(own)).await;
        let record = second.end_what_is_left(&ledger).await;
        assert_eq!(record.status, RunStatus::Completed);
        let asked = second.workspace.asked_for.lock().unwrap().clone();
        assert_eq!(asked, [(None, Some("topic".to_owned()))], "a ref it was begun at is asked for again");
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
