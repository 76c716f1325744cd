//! Ctrl-C during `ars ask`.

use ars_testkit::{FakeAnthropic, Reply};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Machine, Running, answering, events};

#[tokio::test]
async fn ctrl_c_during_a_model_call_stops_the_run() {
    let (machine, fake) = answering([Reply::silent()]).await;
    let ars = Running::start(&mut machine.ars_with(&fake.url(), &["ask", "hi"]));
    fake.wait_for_requests(1).await;
    ars.signal(Signal::INT);
    let ended = ars.ended().await;
    ended.assert_code(130);
    assert_eq!(ended.stdout, "");
    fake.wait_for_disconnects(1).await;
    let record = machine.record().await;
    assert_eq!(record["status"], "stopped_hard");
    let notes: Vec<_> = events(&record, "run_note").iter().map(|note| note["kind"].clone()).collect();
    assert!(notes.contains(&json!("stop_requested")), "{notes:?}");
}

#[tokio::test]
async fn ctrl_c_during_a_command_kills_it() {
    let machine = Machine::new();
    let project = machine.project();
    let fake = FakeAnthropic::start().await;
    let pid_file = machine.path("pid");
    let command = format!("echo $$ > {}.new; mv {0}.new {0}; sleep 1000", pid_file.display());
    fake.push([Reply::tool("bash", json!({ "command": command }))]);
    let arguments = ["ask", "wait", "--repo", project.to_str().unwrap()];
    let ars = Running::start(&mut machine.ars_with(&fake.url(), &arguments));
    let pid = loop {
        if let Ok(pid) = std::fs::read_to_string(&pid_file) {
            break pid;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    ars.signal(Signal::INT);
    ars.ended().await.assert_code(130);
    assert_eq!(machine.record().await["status"], "stopped_hard");
    let alive = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(alive.map_or(true, |stat| stat.contains(") Z ")), "the command outlived the run");
}
