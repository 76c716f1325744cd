//! Limits on a turn's calls, and redacting their output.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ars_agent::{Budget, Part, ToolContent};
use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_ports::StoreErrorKind;
use ars_types::RunStatus;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::support::*;

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

/// Returns the results of the first turn's calls in the conversation.
fn results(world: &World) -> Vec<String> {
    let seen = world.model.seen.lock().unwrap();
    let results = seen[1]
        .last()
        .unwrap()
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolResult { content, .. } => Some(content.iter()),
            _ => None,
        });
    let text = |content: &ToolContent| match content {
        ToolContent::Text { text } => text.clone(),
        other => panic!("{other:?}"),
    };
    results.map(|content| content.map(text).collect()).collect()
}

#[tokio::test(start_paused = true)]
async fn time_budget_limits_a_turns_calls() {
    let calls = vec![
        read("hang"),
        ("write_file", json!({"path": "a", "content": "b"})),
        read("c"),
    ];
    let budget = Budget {
        turns: 10,
        time_ms: 5 * 60_000,
    };
    let world = world_of(
        vec![Move::Ask(calls), Move::Say("late")],
        Capabilities::default(),
        |settings| Settings {
            budgets: [("coding".to_owned(), budget)].into(),
            ..settings
        },
    );
    let began = Instant::now();
    let asked = world.ask("agent:coding repo:acme/app x");
    timeout(Duration::from_secs(3600), asked)
        .await
        .expect("the run ends by itself");
    assert!(
        began.elapsed() < Duration::from_secs(5 * 60 + 10),
        "{:?}",
        began.elapsed()
    );
    let results = results(&world);
    assert!(
        results[0].starts_with("Ended: the run's time was used up"),
        "{results:?}"
    );
    assert!(
        results[1..]
            .iter()
            .all(|said| said.starts_with("Not run: the run has no time left")),
        "{results:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn hard_stop_drops_an_unresponsive_tool() {
    let world = Arc::new(world(vec![Move::Ask(vec![read("hang"), bash("x")])]));
    let io = Arc::new(RecordingChannel::default());
    let running = tokio::spawn({
        let (world, io) = (Arc::clone(&world), Arc::clone(&io));
        async move { world.dispatch("agent:coding repo:acme/app x", &io).await }
    });
    world.workspace.hanging.notified().await;
    let stopped_at = Instant::now();
    world.stop_hard();
    running.await.unwrap();
    assert!(
        stopped_at.elapsed() < Duration::from_secs(1),
        "{:?}",
        stopped_at.elapsed()
    );
    world.settle().await;
    assert_eq!(world.last_record().status, RunStatus::StoppedHard);
}

#[tokio::test]
async fn concurrent_calls_are_limited() {
    let world = world(vec![Move::Ask(vec![read("a"); 70]), Move::Say("read")]);
    world.ask("agent:coding repo:acme/app x").await;
    assert_eq!(world.workspace.most_reading.load(Ordering::SeqCst), 8);
    let results = results(&world);
    assert_eq!(results.len(), 70);
    assert!(
        results[63].contains("\ta") && results[64].contains("at most 64 calls"),
        "{:?}",
        &results[63..65]
    );
    let record = world.last_record();
    let ran = record
        .events
        .iter()
        .filter(|event| event["type"] == "span_end" && event["name"] == "tool.read_file");
    assert_eq!(ran.count(), 64);
    // Skipped calls have results too.
    let told = outline(&record);
    for kind in ["tool_call read_file", "tool_result read_file"] {
        assert_eq!(
            told.iter().filter(|event| *event == kind).count(),
            70,
            "{kind}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn call_without_stored_step_is_not_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    let budget = Budget {
        turns: 10,
        time_ms: 60_000,
    };
    let moves = vec![
        Move::Ask(vec![bash("rm -r build")]),
        Move::Say("nothing was done"),
    ];
    let world = world_of(moves, ledger.capability("g1", channels), |settings| {
        Settings {
            budgets: [("coding".to_owned(), budget)].into(),
            ..settings
        }
    });
    // Step 0 is stored. The step before the command is not, for as long as the run has time.
    let outage = std::iter::repeat_n(Fault::Fail(StoreErrorKind::Transient), 10_000);
    ledger.script("step", std::iter::once(Fault::None).chain(outage));
    world.ask("agent:coding repo:acme/app x").await;
    let record = ledger.records.lock().unwrap()[0].clone();
    let of = |kind: &str| -> Vec<_> {
        record
            .events
            .iter()
            .filter(|event| event["type"] == kind)
            .collect()
    };
    let ([call], [result]) = (&of("tool_call")[..], &of("tool_result")[..]) else {
        panic!("{record:?}")
    };
    assert!(call["callId"] == result["callId"] && result["ok"] == false);
    assert!(
        result["summary"]
            .as_str()
            .unwrap()
            .starts_with("This call was not run"),
        "{result}"
    );
    assert!(
        !record
            .events
            .iter()
            .any(|event| event["name"] == "tool.bash")
    );
}

#[tokio::test]
async fn tool_output_is_redacted_for_the_model() {
    // The second is truncated within a secret; no part may be left.
    let long = "canary-value ".repeat(5_000);
    let calls = vec![
        bash("echo canary-value"),
        bash(&long),
        read("etc/canary-value"),
    ];
    let world = world(vec![Move::Ask(calls), Move::Say("done")]);
    world.ask("agent:coding repo:acme/app x").await;
    let results = results(&world);
    assert_eq!(results[0], "echo [redacted]");
    assert_eq!(results[2].trim(), "1\tetc/[redacted]");
    assert!(
        results[1].starts_with("[redacted] [redacted]") && !results[1].contains("canary"),
        "{}",
        results[1]
    );
}

#[tokio::test]
async fn secret_like_code_reaches_the_model() {
    let code = "let password = \"hunter22\";";
    let world = world(vec![Move::Ask(vec![bash(code)]), Move::Say("done")]);
    world.ask("agent:coding repo:acme/app x").await;
    assert_eq!(results(&world), [code]);
}

#[tokio::test]
async fn checklist_is_shown_whole() {
    let items: Vec<_> = (0..40)
        .map(|n| format!("[ ] item {n} of canary-value"))
        .collect();
    let shown: Vec<_> = (0..40)
        .map(|n| format!("[ ] item {n} of [redacted]"))
        .collect();
    let call = ("update_status", json!({"checklist": items.join("\n")}));
    let world = world(vec![Move::Ask(vec![call]), Move::Say("done")]);
    let io = world.ask("agent:coding repo:acme/app x").await;
    assert_eq!(io.statuses(), [shown.join("\n")]);
    let record = world.last_record();
    let event = record
        .events
        .iter()
        .find(|event| event["type"] == "tool_call")
        .unwrap();
    assert_eq!(
        event["summary"],
        format!("update_status {}", shown.join(" · "))
    );
}
