//! Processes replaced as by a deploy, and a process that dies while a command runs.

use std::{path::Path, time::Duration};

use ars_testkit::{Reply, github::FakeGitHub};
use ars_tests_drills::{Coding, Machine, Traces, answers, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    PROGRAM,
    checks::{only_record, work_is_done},
    friction::{CALL_IT, MISSING_TOOL, file_all, filing_on},
    kills::{lapse, over},
};

/// Processes that come after the first.
const DEPLOYS: usize = 10;
/// Turns in the run, within the coding agent's sixty.
const TURNS: usize = 50;
/// Turns that each process has to itself.
const TURNS_EACH: usize = 3;
/// Pause between two events in an answer, so that a deploy may come while the model speaks.
const PACE: Duration = Duration::from_millis(10);

fn short_turns(body: &Value) -> Reply {
    match answers(body) {
        turn if turn < TURNS => {
            let command = format!("sleep 0.05; {}", Coding::command(turn));
            Reply::tool("bash", json!({ "command": command })).every(PACE)
        }
        _ => Reply::text("All turns are done."),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_run_survives_ten_deployments() {
    let machine = Machine::new(PROGRAM, short_turns).await;
    let mut bot = machine.bot().await;
    let (status, accepted) = bot
        .ask(&json!({ "text": "many small steps", "async": true }))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status, 202, "{accepted}");
    for deploy in 1..=DEPLOYS {
        machine
            .vendor
            .wait_for_requests(machine.vendor.request_count() + TURNS_EACH)
            .await;
        let ended = bot.terminate().await;
        let log = bot.log();
        assert!(ended.success(), "deploy {deploy}: {ended}\n{log}");
        assert_eq!(
            machine.state.live().len(),
            1,
            "deploy {deploy} leaves the run to the next\n{log}"
        );
        bot = machine.bot().await;
    }
    over(&machine).await;
    bot.terminate().await;

    let record = only_record(&machine).unwrap();
    assert_eq!(record["id"], accepted["runId"]);
    assert_eq!(record["status"], "completed");
    let traces = Traces::read(&machine);
    let commands: Vec<_> = (0..TURNS).map(|turn| format!("turn {turn}")).collect();
    work_is_done(&record, &traces, &commands).unwrap();
    assert_eq!(
        traces.lines, commands,
        "a deploy loses no command and its order"
    );
    assert!(
        traces.commands.iter().all(|(_, is_unknown)| !is_unknown),
        "{:?}",
        traces.commands
    );
}

/// Waits for a file. Then it calls a tool that is missing, which another request does at once.
fn waiting(body: &Value) -> Reply {
    let is_other = body["messages"]
        .to_string()
        .contains(CALL_IT.trim_start_matches("agent:general "));
    match answers(body) + usize::from(is_other) {
        0 => {
            let command = format!(
                "touch begun; while [ ! -e go ]; do sleep 0.02; done; {}",
                Coding::command(0)
            );
            Reply::tool("bash", json!({ "command": command }))
        }
        1 => Reply::tool(MISSING_TOOL, json!({})),
        _ => Reply::text("It was cut off."),
    }
}

/// The killed run's record blames no tool for the kill, and its other friction is found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_command_is_not_repeated() {
    let github = FakeGitHub::start().await;
    let machine = Machine::with(PROGRAM, filing_on(&github), waiting).await;
    let mut bot = machine.bot().await;
    let asked = bot.ask(&json!({ "text": "wait", "async": true }));
    until("the command begins", || {
        machine.path_in_tree("begun").is_some()
    })
    .await;
    bot.signal(Signal::KILL);
    bot.ended().await;
    drop(asked);
    // Whatever outlived the bot would go on now.
    let tree = machine.path_in_tree("begun").unwrap();
    std::fs::write(tree.parent().unwrap_or(Path::new("/")).join("go"), "").unwrap();
    lapse(&machine).await;
    let mut next = machine.bot().await;
    over(&machine).await;
    let record = only_record(&machine).unwrap();
    assert_eq!(record["status"], "completed");
    assert_eq!(
        Traces::read(&machine).commands,
        [("turn 0".to_owned(), true)]
    );
    file_all(&machine, &next, &github).await;
    next.terminate().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frozen_process_is_fenced_out() {
    let machine = Machine::new(PROGRAM, short_turns).await;
    let mut frozen = machine.bot().await;
    let (status, accepted) = frozen
        .ask(&json!({ "text": "many small steps", "async": true }))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status, 202, "{accepted}");
    machine.vendor.wait_for_requests(TURNS_EACH).await;
    frozen.signal(Signal::STOP);
    lapse(&machine).await;
    let mut next = machine.bot().await;
    machine
        .vendor
        .wait_for_requests(machine.vendor.request_count() + TURNS_EACH)
        .await;
    frozen.signal(Signal::CONT);
    over(&machine).await;
    let ended = frozen.terminate().await;
    assert!(ended.success(), "{ended}\n{}", frozen.log());
    next.terminate().await;

    let record = only_record(&machine).unwrap();
    assert_eq!(
        (&record["id"], &record["status"]),
        (&accepted["runId"], &json!("completed"))
    );
    let commands: Vec<_> = (0..TURNS).map(|turn| format!("turn {turn}")).collect();
    work_is_done(&record, &Traces::read(&machine), &commands).unwrap();
}
