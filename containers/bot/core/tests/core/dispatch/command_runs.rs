//! The runs that some commands leave.

use std::sync::Arc;

use ars_bot_core::Capabilities;
use ars_types::RunStatus;
use serde_json::Value;

use super::commands::{command, remembering};
use crate::support::*;

#[tokio::test]
async fn command_leaves_input_answer_and_receipt() {
    let world = remembering(Vec::new(), Capabilities::default());
    let io = say(&world, command("friction report")).await;
    world.settle().await;
    let [id] = &io.started.lock().unwrap()[..] else { panic!("one run") };
    assert_eq!(*io.finished.lock().unwrap(), [RunStatus::Completed]);
    assert_eq!(*io.commands.lock().unwrap(), [true]);
    // One record: there is no tombstone.
    let [record] = &world.records()[..] else { panic!("one record") };
    assert_eq!((&record.id, record.status, record.reply_ok), (id, RunStatus::Completed, Some(true)));
    assert_eq!(outline(record), ["input", "run_meta", "answer"]);
    assert_eq!((record.agent.as_deref(), record.model.as_deref()), (Some("command"), None));
    let event = |kind: &str| record.events.iter().find(|event| event["type"] == kind).unwrap();
    assert_eq!(event("input")["text"], "friction report");
    assert_eq!((&event("run_meta")["agent"], &event("run_meta")["model"]), (&"command".into(), &Value::Null));
    assert_eq!(event("answer")["text"], io.said()[0]);
    assert!(record.label.as_ref().unwrap().starts_with("command · http:default - http:ann · “friction"));
    assert!(world.model.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn failed_command_leaves_its_answer() {
    let world = remembering(Vec::new(), Capabilities::default());
    let io = say(&world, command("memory forget mem:user:http:ann:9")).await;
    world.settle().await;
    assert_eq!(io.said(), ["⚠️ `memory forget`: there is no such record"]);
    assert_eq!(
        (&*io.finished.lock().unwrap(), io.started.lock().unwrap().len()),
        (&vec![RunStatus::Failed], 1)
    );
    let record = world.last_record();
    assert_eq!((record.status, record.reply_ok), (RunStatus::Failed, Some(true)));
    assert_eq!(outline(&record), ["input", "run_meta", "answer"]);
}

#[tokio::test]
async fn undelivered_answer_fails_the_record() {
    let world = remembering(Vec::new(), Capabilities::default());
    let io = Arc::new(Collector { broken: true, ..Collector::default() });
    let channel: Arc<Collector> = Arc::clone(&io);
    world.core.dispatch(command("friction report"), channel).await;
    world.settle().await;
    let record = world.last_record();
    assert_eq!((record.status, record.reply_ok), (RunStatus::Failed, Some(false)));
}

#[tokio::test]
async fn command_run_is_unknown_to_the_ledger() {
    let ledger = Arc::new(ScriptedLedger::default());
    let channels = Arc::new(Reopening(Arc::default()));
    let world = remembering(Vec::new(), ledger.capability("g1", channels));
    say(&world, command("friction report")).await;
    world.settle().await;
    assert_eq!(world.records().len(), 1);
    for request in ["claim", "finish", "inbox"] {
        assert_eq!(ledger.count(request), 0, "{request}");
    }
    assert!(ledger.runs().is_empty() && ledger.records.lock().unwrap().is_empty());
}
