//! What the Worker has acknowledged is there after a kill, at any moment, under load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ars_tests_workerd::{Client, TOKEN, state_worker};
use serde_json::json;

use crate::records::{STORE, call, now, put, record};

/// Writers at once.
const WRITERS: usize = 4;
/// Kills.
const ROUNDS: usize = 3;
/// Acknowledged writes a round waits for before the kill.
const WRITES_BEFORE_KILL: usize = 40;

#[test]
fn records_survive_a_restart() {
    let mut worker = state_worker();
    put(&worker.client, &record("run-1", now(), 3));
    worker.kill_and_restart();
    let read = call(&worker.client, "/runs/get", json!({ "id": "run-1" }));
    assert_eq!(read["record"]["events"].as_array().unwrap().len(), 3);
}

#[test]
fn a_kill_under_load_loses_nothing_that_was_acknowledged() {
    let mut worker = state_worker();
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        acknowledged.extend(write_until_killed(round, &mut worker));
        worker.restart();
        for id in &acknowledged {
            let read = call(&worker.client, "/runs/get", json!({ "id": id }));
            let events = read["record"]["events"].as_array().map(Vec::len);
            assert_eq!(events, Some(8), "{id} was acknowledged and is lost or torn");
        }
    }
    assert!(acknowledged.len() >= ROUNDS * WRITES_BEFORE_KILL);
}

/// Writes from several connections, kills in the midst of it, and answers what had been acknowledged.
fn write_until_killed(round: usize, worker: &mut ars_tests_workerd::Running) -> Vec<String> {
    let acknowledged = Mutex::new(Vec::new());
    let count = AtomicUsize::new(0);
    let client = worker.client.clone();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (client, acknowledged, count) = (client.clone(), &acknowledged, &count);
            scope.spawn(move || {
                let mut index = 0;
                while let Some(id) = write(&client, &format!("r{round}-w{writer}-{index}")) {
                    acknowledged.lock().unwrap().push(id);
                    count.fetch_add(1, Ordering::SeqCst);
                    index += 1;
                }
            });
        }
        while count.load(Ordering::SeqCst) < WRITES_BEFORE_KILL {
            thread::yield_now();
        }
        worker.kill();
    });
    acknowledged.into_inner().unwrap()
}

/// The id, if the write was acknowledged; nothing once the Worker is gone.
fn write(client: &Client, id: &str) -> Option<String> {
    let body = json!({ "storeKey": STORE, "record": record(id, now(), 8) }).to_string();
    let bearer = format!("Bearer {TOKEN}");
    let answer = client.try_send("POST", "/runs/put", &[("authorization", &bearer)], body.as_bytes()).ok()?;
    assert_eq!(answer.status, 200, "{answer:?}");
    Some(id.to_owned())
}
