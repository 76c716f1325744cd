//! The shipped object's alarm: sweeps rows hidden by the retention in batches, and is set again.
//!
//! The test moves finished runs and the alarm a month into the past while the runtime is stopped, in the runtime's
//! files (docs/platform.md). Not here: the exact rows that a sweep deletes (`shared/runs`).

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ars_sql::{Sql, Value};
use ars_sql_native::NativeSql;
use ars_tests_workerd::{Client, Running, state_worker};
use serde_json::json;

use crate::records::{call, now, put, record};

/// Class name for the object.
const CLASS: &str = "RunStore";
/// Longer than the 30 days' retention.
const MONTH_MS: i64 = 31 * 24 * 60 * 60 * 1000;
/// Interval between two sweeps.
const SWEEP_EVERY_MS: i64 = 6 * 60 * 60 * 1000;
/// Timeout for a sweep.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[test]
fn alarm_sweeps_expired_runs_and_is_set_again() {
    let mut worker = state_worker();
    put(&worker.client, &record("kept", now(), 3));
    live(&worker.client);
    // A sweep deletes at most 1,000 runs, so 1,100 take two alarms. Each poll deletes a run, so there are more runs
    // than polls.
    for expired in [1_100, 400] {
        for n in 0..expired {
            put(&worker.client, &record(&old(n), now(), 1));
        }
        worker.kill();
        assert_eq!(stored(&worker), [expired + 1, expired + 3, 2]);
        assert!((1..=SWEEP_EVERY_MS).contains(&due_in(&worker)), "it is set");
        advance_one_month(&worker);
        worker.restart();

        swept(&worker.client, expired);
        worker.kill();
        assert_eq!(
            stored(&worker),
            [1, 3, 2],
            "what has not expired stays, and nothing else"
        );
        assert!(
            (SWEEP_EVERY_MS / 2..=SWEEP_EVERY_MS).contains(&due_in(&worker)),
            "it is set again"
        );
        worker.restart();
        assert_eq!(
            call(&worker.client, "/runs/get", json!({ "id": "kept" }))["record"]["id"],
            "kept"
        );
    }
}

fn old(n: i64) -> String {
    format!("old-{n:04}")
}

/// Claims a run with two events and no record.
fn live(client: &Client) {
    let run = json!({
        "runId": "live", "threadKey": "live", "gen": "gen-1", "leaseMs": 1000, "startedAt": now(), "meta": {},
        "system": "be brief", "tools": [],
    });
    call(client, "/runs/claim", json!({ "run": run }));
    let events = [1, 2].map(|seq| json!({ "seq": seq, "type": "text", "text": "on its way" }));
    call(
        client,
        "/runs/append",
        json!({ "runId": "live", "gen": "gen-1", "events": events }),
    );
}

/// Waits until sweeps have deleted the newest expired run, which is deleted last. Only a deletion
/// shows a hidden run, so each poll deletes another run.
fn swept(client: &Client, expired: i64) {
    let until = Instant::now() + TIMEOUT;
    for n in (0..expired).rev() {
        if call(client, "/runs/delete", json!({ "id": old(n) }))["deleted"] == json!(false) {
            return;
        }
        assert!(Instant::now() < until, "no alarm has swept");
        thread::sleep(POLL_INTERVAL);
    }
    panic!("every run was there to be deleted by hand: no alarm has swept");
}

fn database(path: &Path) -> NativeSql {
    NativeSql::open(path).unwrap()
}

/// Returns how many runs, events, and events without a record there are.
fn stored(worker: &Running) -> [i64; 3] {
    let counts = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM run_events WHERE run_id IN \
        (SELECT id FROM runs)), (SELECT count(*) FROM run_events WHERE run_id NOT IN (SELECT id FROM runs))";
    let rows = database(&worker.database_of(CLASS))
        .query(counts, &[])
        .unwrap();
    [0, 1, 2].map(|column| rows[0].integer(column).unwrap())
}

/// Returns milliseconds until the alarm, stored in nanoseconds in the same commit as the sweep.
fn due_in(worker: &Running) -> i64 {
    let object = database(&worker.database_of(CLASS));
    let rows = object
        .query(
            "SELECT value / 1000000 FROM _cf_METADATA WHERE key = 1",
            &[],
        )
        .unwrap();
    rows[0].integer(0).unwrap() - i64::try_from(now()).unwrap()
}

/// Moves the expiring runs and the alarm into the past, in the files of the object and the runtime.
fn advance_one_month(worker: &Running) {
    let object = database(&worker.database_of(CLASS));
    let month = [Value::from(MONTH_MS)];
    object
        .execute(
            "UPDATE runs SET finished_at = finished_at - ? WHERE id LIKE 'old-%'",
            &month,
        )
        .unwrap();
    object
        .execute("UPDATE named_alarms SET at_ms = at_ms - ?", &month)
        .unwrap();
    let own = "UPDATE _cf_METADATA SET value = value - CAST(? AS INTEGER) * 1000000 WHERE key = 1 RETURNING 1";
    assert_eq!(
        object.query(own, &month).unwrap().len(),
        1,
        "the object knows its alarm"
    );
    let listed = "UPDATE _cf_ALARM SET scheduled_time = scheduled_time - CAST(? AS INTEGER) * 1000000 RETURNING 1";
    let alarms = database(&worker.alarms_of(CLASS));
    assert_eq!(
        alarms.query(listed, &month).unwrap().len(),
        1,
        "and the runtime knows it"
    );
}
