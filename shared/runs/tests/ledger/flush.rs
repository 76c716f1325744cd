//! A flush's cost (docs/decisions/0007): a constant number of statements, and only changed rows.

use ars_runs::RunStore;
use ars_sql::Sql as _;
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_testkit::faulty::Fault;
use ars_testkit::ledger::{Outcome, Subject as _};
use ars_wire::state::RunVerb;
use serde_json::{Value, json};

use crate::native::Native;

pub const NOW: i64 = 1_700_000_000_000;

pub fn claim(run: &str, generation: &str) -> Value {
    json!({ "storeKey": "k", "run": { "runId": run, "threadKey": run, "gen": generation, "leaseMs": 30_000,
        "startedAt": NOW, "meta": {}, "system": "", "tools": [] } })
}

fn entry(run: &str, events: usize) -> Value {
    let events: Vec<_> = (1..=events)
        .map(|seq| json!({ "seq": seq, "type": "text" }))
        .collect();
    json!({ "runId": run, "events": events, "inboxAfter": 0 })
}

fn flush(runs: &[Value], lease_ms: Option<i64>) -> Value {
    let mut body = json!({ "storeKey": "k", "gen": "g1", "runs": runs });
    if let Some(lease_ms) = lease_ms {
        body["leaseMs"] = json!(lease_ms);
    }
    body
}

/// Counts a flush's statements: the number of the first injected fault without effect.
fn statements(runs: usize) -> u32 {
    let mut native = Native::new();
    let names: Vec<_> = (0..runs).map(|run| format!("r{run}")).collect();
    for run in &names {
        assert_eq!(native.call("/runs/claim", &claim(run, "g1"), NOW).0, 200);
    }
    let body = flush(
        &names.iter().map(|run| entry(run, 2)).collect::<Vec<_>>(),
        Some(30_000),
    );
    let answered = |statement: &u32| {
        let outcome =
            native.call_and_crash("/runs/flush", &body, NOW, Fault::Statement(*statement));
        matches!(outcome, Outcome::Answered(200, _))
    };
    (0..100).find(answered).unwrap()
}

#[test]
fn statement_count_is_independent_of_runs() {
    assert_eq!((statements(1), statements(500)), (3, 3));
}

#[test]
fn flush_writes_only_events_and_leases() {
    let store = RunStore::open(NativeSql::in_memory().unwrap()).unwrap();
    let ask = |verb, body: &Value| store.answer(verb, &body.to_string(), NOW).unwrap();
    for (run, generation) in [("r1", "g1"), ("r2", "g1"), ("r3", "g2")] {
        ask(RunVerb::Claim, &claim(run, generation));
    }
    let message = json!({ "storeKey": "k", "runId": "r1", "message": {} });
    ask(RunVerb::Inbox, &message);
    let written = || {
        store.sql().query("SELECT total_changes()", &[]).unwrap()[0]
            .integer(0)
            .unwrap()
    };
    for (events, lease_ms, rows) in [
        (0, None, 0),
        (4, None, 8),
        (0, Some(1000), 2),
        (9, Some(1000), 20),
    ] {
        store.sql().execute("DELETE FROM run_events", &[]).unwrap();
        let before = written();
        let runs = ["r1", "r2", "r3", "r4"].map(|run| entry(run, events));
        let answer = ask(RunVerb::Flush, &flush(&runs, lease_ms));
        assert!(answer.contains(r#""inbox":[{"seq":1"#), "{answer}");
        assert_eq!(
            written() - before,
            rows,
            "{events} events each, lease {lease_ms:?}"
        );
    }
}
