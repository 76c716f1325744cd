//! A replaced container: the next process has the stores and an empty disk (docs/decisions/0013).

use ars_tests_drills::{Coding, Machine, Traces};
use serde_json::json;

use crate::{
    PROGRAM,
    checks::only_record,
    kills::{lapse, over},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_without_its_tree_is_closed() {
    let machine = Machine::new(PROGRAM, Coding::answer).await;
    let mut first = machine.bot_that_dies_at("workspace.exec.before:3").await;
    let asked = first.ask(&json!({ "text": "do the work", "async": true }));
    first.ended().await;
    drop(asked.await);
    assert!(!Traces::of(&machine).lines.is_empty(), "it had worked in its tree");
    lapse(&machine).await;
    std::fs::remove_dir_all(machine.path("data/workspaces")).unwrap();

    let requests = machine.vendor.request_count();
    let mut second = machine.bot().await;
    over(&machine).await;
    let status = second.terminate().await;
    assert!(status.success(), "{status}\n{}", second.log());

    let record = only_record(&machine).unwrap();
    assert_eq!(record["status"], "interrupted");
    let last = record["events"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["type"], &last["kind"]), (&json!("run_note"), &json!("sandbox_dead")));
    assert!(last["summary"].as_str().unwrap().contains("working tree is gone"), "{last}");
    assert_eq!(machine.vendor.request_count(), requests, "no model is asked about files that are not there");
    assert!(!machine.path("data/workspaces").exists(), "no empty tree was made");
}
