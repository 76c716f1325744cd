//! The alarm of the shipped object: it sweeps what the retention hides, in as many goes as it takes, and is set again
//! (state-worker supplement section 7.2).
//!
//! A month passes while the runtime is stopped: the finished runs and the alarm are moved into the past, in the files
//! that the runtime keeps them in (docs/platform.md). Not here: what a sweep deletes in every case (natively,
//! `shared/runs`).

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ars_sql::{Sql, Value};
use ars_sql_native::NativeSql;
use ars_tests_workerd::{Client, Running, state_worker};
use serde_json::json;

use crate::records::{call, now, put, record};

/// The class whose alarm it is.
const CLASS: &str = "RunStore";
/// Longer than the retention, which is 30 days.
const A_MONTH_MS: i64 = 31 * 24 * 60 * 60 * 1000;
/// From one sweep to the next.
const SWEEP_EVERY_MS: i64 = 6 * 60 * 60 * 1000;
/// Longest wait for a sweep.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(50);

#[test]
fn an_alarm_sweeps_what_has_expired_spares_the_rest_and_is_set_again_for_the_objects_next_life() {
    let mut worker = state_worker();
    put(&worker.client, &record("kept", now(), 3));
    live(&worker.client);
    // A sweep deletes 1,000 at most, so that the first 1,100 take two alarms, and two settings of the next. Each look
    // at whether a sweep has been costs a run: there are more than there are looks.
    for expired in [1_100, 400] {
        for n in 0..expired {
            put(&worker.client, &record(&old(n), now(), 1));
        }
        worker.kill();
        assert_eq!(stored(&worker), [expired + 1, expired + 3, 2]);
        assert!((1..=SWEEP_EVERY_MS).contains(&due_in(&worker)), "it is set");
        a_month_passes(&worker);
        worker.restart();

        swept(&worker.client, expired);
        worker.kill();
        assert_eq!(stored(&worker), [1, 3, 2], "what has not expired stays, and nothing else");
        assert!((SWEEP_EVERY_MS / 2..=SWEEP_EVERY_MS).contains(&due_in(&worker)), "it is set again");
        worker.restart();
        assert_eq!(call(&worker.client, "/runs/get", json!({ "id": "kept" }))["record"]["id"], "kept");
    }
}

fn old(n: i64) -> String {
    format!("old-{n:04}")
}

/// A run that lives, with two events and no record.
fn live(client: &Client) {
    let run = json!({
        "runId": "live", "threadKey": "live", "gen": "gen-1", "leaseMs": 1000, "startedAt": now(), "meta": {},
        "system": "be brief", "tools": [],
    });
    call(client, "/runs/claim", json!({ "run": run }));
    let events = [1, 2].map(|seq| json!({ "seq": seq, "type": "text", "text": "on its way" }));
    call(client, "/runs/append", json!({ "runId": "live", "gen": "gen-1", "events": events }));
}

/// Waits until the sweeps have deleted the newest expired run, which goes last. A hidden run shows itself to its
/// deletion alone, so each look asks for another one.
fn swept(client: &Client, expired: i64) {
    let until = Instant::now() + PATIENCE;
    for n in (0..expired).rev() {
        if call(client, "/runs/delete", json!({ "id": old(n) }))["deleted"] == json!(false) {
            return;
        }
        assert!(Instant::now() < until, "no alarm has swept");
        thread::sleep(LOOK);
    }
    panic!("every run was there to be deleted by hand: no alarm has swept");
}

fn database(path: &Path) -> NativeSql {
    NativeSql::open(path).unwrap()
}

/// Runs, events of theirs, and events of runs without a record.
fn stored(worker: &Running) -> [i64; 3] {
    let counts = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM run_events WHERE run_id IN \
        (SELECT id FROM runs)), (SELECT count(*) FROM run_events WHERE run_id NOT IN (SELECT id FROM runs))";
    let rows = database(&worker.database_of(CLASS)).query(counts, &[]).unwrap();
    [0, 1, 2].map(|column| rows[0].integer(column).unwrap())
}

/// Milliseconds until the alarm, by the object itself: it is set in one commit with what the sweep deletes. It counts
/// nanoseconds.
fn due_in(worker: &Running) -> i64 {
    let object = database(&worker.database_of(CLASS));
    let rows = object.query("SELECT value / 1000000 FROM _cf_METADATA WHERE key = 1", &[]).unwrap();
    rows[0].integer(0).unwrap() - i64::try_from(now()).unwrap()
}

/// Moves what has a time back: the runs that are to expire, and the alarm where the object keeps it and where the
/// runtime does.
fn a_month_passes(worker: &Running) {
    let object = database(&worker.database_of(CLASS));
    let month = [Value::from(A_MONTH_MS)];
    object.execute("UPDATE runs SET finished_at = finished_at - ? WHERE id LIKE 'old-%'", &month).unwrap();
    let own =
        "UPDATE _cf_METADATA SET value = value - CAST(? AS INTEGER) * 1000000 WHERE key = 1 RETURNING 1";
    assert_eq!(object.query(own, &month).unwrap().len(), 1, "the object knows its alarm");
    let listed =
        "UPDATE _cf_ALARM SET scheduled_time = scheduled_time - CAST(? AS INTEGER) * 1000000 RETURNING 1";
    let alarms = database(&worker.alarms_of(CLASS));
    assert_eq!(alarms.query(listed, &month).unwrap().len(), 1, "and the runtime knows it");
}
