//! Ctrl-C during `ars ask`.

use ars_testkit::{FakeAnthropic, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Machine, Running, answering, events, sleeps, until};

#[tokio::test]
async fn ctrl_c_during_a_model_call_stops_the_run() {
    let (machine, fake) = answering([Reply::silent()]).await;
    let ars = Running::start(&mut machine.ars_with(&fake.url(), &["ask", "--json-lines", "hi"]));
    fake.wait_for_requests(1).await;
    ars.signal(Signal::INT);
    let ended = ars.ended().await;
    ended.assert_code(130);
    let result: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&result["type"], &result["run"]["status"]),
        (&json!("result"), &json!("stopped_hard"))
    );
    fake.wait_for_disconnects(1).await;
    let record = machine.record().await;
    assert_eq!(record["status"], "stopped_hard");
    let notes: Vec<_> = events(&record, "run_note")
        .iter()
        .map(|note| note["kind"].clone())
        .collect();
    assert!(notes.contains(&json!("stop_requested")), "{notes:?}");
}

#[tokio::test]
async fn ctrl_c_during_a_command_kills_it() {
    let machine = Machine::new();
    let project = machine.project();
    let fake = FakeAnthropic::start().await;
    let word = format!("1000.{}", std::process::id());
    let command = format!("sleep {word}");
    fake.push([Reply::tool("bash", json!({ "command": command }))]);
    let arguments = ["ask", "wait", "--repo", project.to_str().unwrap()];
    let ars = Running::start(&mut machine.ars_with(&fake.url(), &arguments));
    until("the command runs", || sleeps(&word)).await;
    ars.signal(Signal::INT);
    ars.ended().await.assert_code(130);
    assert_eq!(machine.record().await["status"], "stopped_hard");
    assert!(!sleeps(&word), "the command outlived the run");
}
