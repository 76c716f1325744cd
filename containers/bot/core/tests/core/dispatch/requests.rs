//! Requests that become runs.

use std::sync::{Arc, atomic::Ordering};

use ars_agent::{Part, Role, ToolContent};
use ars_bot_ports::{ModelErrorKind, StoreErrorKind};
use ars_types::RunStatus;
use serde_json::{Value, json};

use crate::support::*;

#[tokio::test]
async fn coding_request_runs_tools_and_is_recorded() {
    let world = world(vec![
        Move::Ask(vec![bash("make test")]),
        Move::Say("all green"),
    ]);
    let io = world.ask("agent:coding repo:acme/app make it pass").await;
    assert_eq!(io.said(), ["all green"]);
    assert_eq!(io.finished(), [RunStatus::Completed]);
    let record = world.last_record();
    assert_eq!(
        outline(&record),
        [
            "input",
            "run_meta",
            "tool_call bash",
            "tool_result bash",
            "answer"
        ]
    );
    assert_eq!(
        (record.status, record.reply_ok, record.step_count),
        (RunStatus::Completed, Some(true), Some(2))
    );
    assert_eq!(
        (record.repo.as_deref(), record.agent.as_deref()),
        (Some("acme/app"), Some("coding"))
    );
    assert_eq!(record.event_count, record.events.len() as u64);
    assert_eq!(record.diagnosis["verdict"], "no friction detected");
    assert!(record.sealed_at >= Some(record.finished_at));
}

#[tokio::test]
async fn model_and_reader_learn_of_a_new_clone() {
    let world = world(vec![Move::Say("hi")]);
    world
        .workspace
        .is_cloned_again
        .store(true, Ordering::SeqCst);
    world.ask("agent:coding repo:acme/app x").await;
    assert_eq!(
        outline(&world.last_record()),
        ["input", "run_meta", "run_note tree_removed", "answer"]
    );
    let seen = world.model.seen.lock().unwrap();
    let request = seen[0].last().unwrap();
    let [Part::Text { text, .. }, Part::Text { text: note, .. }] = request.parts.as_slice() else {
        panic!("{request:?}");
    };
    assert_eq!(text, "x");
    assert!(
        note.contains("removed to free the disk") && note.contains("at abc1234def"),
        "{note}"
    );
}

#[tokio::test]
async fn final_record_replaces_the_provisional_one() {
    let world = world(vec![Move::Say("hi")]);
    world.ask("hello").await;
    let records = world.records();
    assert_eq!(records.last().unwrap().status, RunStatus::Completed);
    if let [tombstone, _] = records.as_slice() {
        assert_eq!(tombstone.status, RunStatus::Interrupted);
        assert_eq!(tombstone.finished_at, tombstone.started_at);
    }
}

#[tokio::test]
async fn invalid_calls_are_answered_to_the_model() {
    let calls = vec![
        ("fly", json!({})),
        ("bash", Value::String("{\"command\": ".into())),
        ("bash", json!({"cmd": 1})),
    ];
    let world = world(vec![Move::Ask(calls), Move::Say("sorry")]);
    let io = world.ask("agent:coding repo:acme/app x").await;
    assert_eq!(io.said(), ["sorry"]);
    let seen = world.model.seen.lock().unwrap();
    let told = seen[1].last().unwrap().parts.iter().map(|part| match part {
        Part::ToolResult { ok, content, .. } => match &content[0] {
            ToolContent::Text { text } => (*ok, text.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    let told: Vec<_> = told.collect();
    assert!(told.iter().all(|(ok, _)| !ok));
    assert!(
        told[0].1.contains("bash") && told[2].1.contains("command"),
        "{told:?}"
    );
}

#[tokio::test]
async fn reads_run_concurrently_and_commands_alone() {
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let world = world(vec![
        Move::Ask(vec![read("a"), read("b"), read("c"), bash("x")]),
        Move::Say("ok"),
    ]);
    world.ask("agent:coding repo:acme/app x").await;
    assert_eq!(world.workspace.most_reading.load(Ordering::SeqCst), 3);
    let seen = world.model.seen.lock().unwrap();
    let answered = seen[1].last().unwrap().parts.iter().map(|part| match part {
        Part::ToolResult { call_id, .. } => call_id.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(answered.collect::<Vec<_>>(), ["c0", "c1", "c2", "c3"]);
}

#[tokio::test]
async fn failed_run_replies_and_is_recorded() {
    for (only, words) in [
        (
            Move::Fail(ModelErrorKind::Unreachable),
            "could not be reached",
        ),
        (Move::Panic, "internal error"),
    ] {
        let world = world(vec![only]);
        let io = world.ask("hello").await;
        assert!(io.said()[0].contains(words));
        assert_eq!(io.finished(), [RunStatus::Failed]);
        assert_eq!(world.last_record().status, RunStatus::Failed);
    }
}

/// Returns the note kinds from a run that makes these calls in turn.
async fn notes_after(asked: Vec<Vec<(&'static str, serde_json::Value)>>) -> Vec<String> {
    let asked = asked.into_iter().map(Move::Ask);
    let world = world(asked.chain([Move::Say("done")]).collect());
    world.ask("agent:coding repo:acme/app x").await;
    let told = outline(&world.last_record()).into_iter();
    told.filter_map(|event| event.strip_prefix("run_note ").map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn sandbox_failures_reset_on_success_only() {
    let elsewhere = vec![
        ("read_file", json!({"path": 7})),
        ("no_such_tool", json!({})),
        ("update_status", json!({"checklist": "[ ] a"})),
        ("list_skills", json!({})),
    ];
    let broken = || vec![bash("break")];
    assert_eq!(
        notes_after(vec![broken(), elsewhere, broken()]).await,
        ["sandbox_dead"]
    );
    // A command that fails was run.
    for answered in [bash("exit 1"), ("read_file", json!({"path": "a"}))] {
        let none: [&str; 0] = [];
        assert_eq!(
            notes_after(vec![broken(), vec![answered], broken()]).await,
            none
        );
    }
}

#[tokio::test]
async fn busy_fleet_is_not_a_sandbox_failure() {
    let crowded = || vec![bash("crowd")];
    assert_eq!(
        notes_after(vec![crowded(), crowded(), crowded()]).await,
        ["fleet_busy"; 3]
    );
    let world = world(vec![Move::Ask(crowded()), Move::Say("done")]);
    world.ask("agent:coding repo:acme/app x").await;
    let record = world.last_record();
    let result = record
        .events
        .iter()
        .find(|event| event["type"] == "tool_result")
        .unwrap();
    assert!(
        result["ok"] == false && result["infra"].is_null(),
        "{result}"
    );
}

#[tokio::test]
async fn undelivered_reply_fails_the_record() {
    let world = world(vec![Move::Say("hi")]);
    let io = Arc::new(RecordingChannel {
        is_broken: true,
        ..RecordingChannel::default()
    });
    world.dispatch("hello", &io).await;
    world.settle().await;
    assert_eq!(
        (world.last_record().status, world.last_record().reply_ok),
        (RunStatus::Failed, Some(false))
    );
}

#[tokio::test]
async fn hard_stop_ends_the_run_without_reply() {
    let world = Arc::new(world(vec![Move::HangUntilStopped]));
    let (io, running) = under_way(&world, "hello").await;
    world.stop_hard();
    running.await.unwrap();
    world.settle().await;
    assert!(io.said().is_empty());
    let record = world.last_record();
    assert_eq!(
        (record.status, record.reply_ok),
        (RunStatus::StoppedHard, None)
    );
    assert!(
        outline(&record).ends_with(&["run_note stop_requested".into(), "run_note stopped".into()])
    );
}

#[tokio::test]
async fn refusal_is_one_reply_and_no_run() {
    for (text, word) in [
        ("agent:nobody x", "general, coding"),
        ("effort:ultra x", "medium"),
        ("agent:coding x", "acme/app"),
        ("agent:coding repo:acme/none x", "acme/app"),
        ("model:other/m x", "scripted"),
        ("agent:coding repo:acme/app", "no request"),
        (" effort:low\n", "no request"),
    ] {
        let world = world(Vec::new());
        let io = world.ask(text).await;
        let replies = io.said();
        assert!(
            replies.len() == 1 && replies[0].contains(word),
            "{text}: {replies:?}"
        );
        assert!(
            io.started().is_empty() && world.records().is_empty(),
            "{text}"
        );
    }
}

#[tokio::test]
async fn failed_workspace_ends_the_run_with_a_record() {
    let world = world(Vec::new());
    let io = world.ask("agent:coding repo:acme/broken x").await;
    let replies = io.said();
    assert!(
        replies.len() == 1 && replies[0].contains("not a repository"),
        "{replies:?}"
    );
    let record = world.last_record();
    assert_eq!(io.started(), std::slice::from_ref(&record.id));
    assert_eq!(
        (record.status, record.reply_ok),
        (RunStatus::Failed, Some(true))
    );
    assert_eq!(outline(&record), ["input", "run_meta", "answer"]);
    assert_eq!(record.repo.as_deref(), Some("acme/broken"));
}

#[tokio::test]
async fn earlier_turns_reach_the_model_and_the_stream() {
    let world = world(vec![Move::Say("42")]);
    let history = vec![
        said(Role::User, "my number is 41"),
        said(Role::Assistant, "noted"),
    ];
    let io = Arc::new(RecordingChannel {
        history,
        ..RecordingChannel::default()
    });
    world.dispatch("plus one?", &io).await;
    world.settle().await;
    assert_eq!(world.model.seen.lock().unwrap()[0].len(), 3);
    let record = world.last_record();
    assert_eq!(
        outline(&record),
        ["input", "context", "context", "run_meta", "answer"]
    );
    assert!(
        record
            .events
            .iter()
            .any(|event| event["text"] == "user: my number is 41")
    );
}

#[tokio::test(start_paused = true)]
async fn store_outage_delays_the_record() {
    let world = world(vec![Move::Say("hi")]);
    world
        .store
        .failures
        .lock()
        .unwrap()
        .extend([StoreErrorKind::Transient; 2]);
    world.ask("hello").await;
    assert_eq!(world.last_record().status, RunStatus::Completed);
    assert_eq!(world.core.load().lost_records, 0);
}

#[tokio::test(start_paused = true)]
async fn lost_record_keeps_the_answer() {
    for kind in [
        StoreErrorKind::Transient,
        StoreErrorKind::Permanent,
        StoreErrorKind::RouteMissing,
    ] {
        let world = world(vec![Move::Say("hi")]);
        *world.store.down.lock().unwrap() = Some(kind);
        let io = world.ask("hello").await;
        assert_eq!(io.said(), ["hi"]);
        assert_eq!(world.core.load().lost_records, 1);
    }
}

#[tokio::test]
async fn events_and_records_hold_no_secret() {
    let world = world(vec![
        Move::Ask(vec![bash("echo canary-value")]),
        Move::Say("it is canary-value"),
    ]);
    world
        .ask("agent:coding repo:acme/app say canary-value")
        .await;
    let text = serde_json::to_string(&world.last_record()).unwrap();
    assert!(!text.contains("canary-value"), "{text}");
}

#[tokio::test]
async fn prose_names_the_repository() {
    let world = world(vec![
        Move::Say("done"),
        Move::Say("done"),
        Move::Say("done"),
    ]);
    let io = world.ask("agent:coding mend acme/other#3").await;
    assert!(io.said()[0].contains("not known here"), "{:?}", io.said());
    world.ask("agent:coding mend it in acme/app").await;
    assert_eq!(world.last_record().repo.as_deref(), Some("acme/app"));
    // The thread has a repository now, which a bare slug does not replace.
    world.ask("agent:coding as acme/slow does").await;
    let asked = world.workspace.asked_for.lock().unwrap().clone();
    assert_eq!(asked, [(Some("acme/app".to_owned()), None), (None, None)]);
}
