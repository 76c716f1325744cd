//! Acknowledged writes survive a restart. `crash.rs` tests it under load.

use ars_tests_workerd::state_worker;
use serde_json::json;

use crate::records::{call, now, put, record};

#[test]
fn records_survive_a_restart() {
    let mut worker = state_worker();
    put(&worker.client, &record("run-1", now(), 3));
    worker.kill_and_restart();
    let read = call(&worker.client, "/runs/get", json!({ "id": "run-1" }));
    assert_eq!(read["record"]["events"].as_array().unwrap().len(), 3);
}
