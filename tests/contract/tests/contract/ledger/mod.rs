//! The ledger of live runs.

pub mod append;
pub mod claim;
pub mod finish;
pub mod finishing;
pub mod flush;
pub mod handoff;
pub mod heartbeat;
pub mod inbox;
pub mod live;
pub mod live_events;
pub mod reclaim;
pub mod state;
pub mod step;
pub mod stop;

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{record, with, without},
};

/// An hour, the longest lease.
pub const HOUR: i64 = 3_600_000;

/// Returns a minimal run to claim.
pub fn run(id: &str, thread: &str, generation: &str) -> Value {
    json!({ "runId": id, "threadKey": thread, "gen": generation, "leaseMs": HOUR, "startedAt": 1,
        "meta": {}, "system": "", "tools": [] })
}

/// Returns the body of a claim.
pub fn claim(run: Value) -> Value {
    json!({ "run": run })
}

/// Returns the body of a claim of run `r` on thread `t` by generation `g1`.
pub fn claimed() -> Value {
    claim(run("r", "t", "g1"))
}

/// Returns an owner write of run `r` by `g1` with these fields.
pub fn owned(fields: Value) -> Value {
    with(json!({ "runId": "r", "gen": "g1" }), fields)
}

/// Returns a valid step record.
pub fn step(number: i64) -> Value {
    json!({ "step": number, "seq": 0, "turnIndex": 0, "inboxConsumedSeq": 0, "remainingMs": 0, "turn": 0,
        "iteration": 0, "inFlight": [] })
}

/// Returns invalid run ids.
fn wrong_ids() -> Vec<Value> {
    vec![json!(null), json!(7), json!(""), json!(WRONG), json!("x".repeat(65)), json!("a:b")]
}

/// Returns invalid generations.
fn wrong_generations() -> Vec<Value> {
    vec![json!(null), json!(7), json!(""), json!(WRONG), json!("x".repeat(129)), json!("g/1"), json!("é")]
}

/// Returns invalid leases.
fn wrong_leases() -> Vec<Value> {
    vec![json!(null), json!(0), json!(999), json!(3_600_001), json!(1000.5), json!("30000"), json!(-1000)]
}

/// Returns values that are no objects.
fn no_objects() -> Vec<Value> {
    vec![json!(null), json!(7), json!(WRONG), json!([])]
}

/// Adds the cases common to all owner writes. `fields` are those needed besides run and generation.
fn fence(table: &mut Table, fields: &Value) {
    let body = |fields: Value| owned(fields);
    let all = || body(fields.clone());
    for field in ["runId", "gen"] {
        table.case(format!("{field} is required")).refused(field, without(all(), field));
    }
    table.refuses("runId", &wrong_ids(), |id| with(all(), json!({ "runId": id })));
    table.refuses("gen", &wrong_generations(), |generation| with(all(), json!({ "gen": generation })));
    table.case("run that was never claimed").conflict("unknown-run", all());
    table
        .case("run owned by another generation")
        .given("/runs/claim", claimed())
        .conflict("fenced", with(all(), json!({ "gen": "g2" })))
        .then("/runs/live", json!({}))
        .then("/runs/live-events", json!({ "runId": "r" }));
    table
        .case("run of another store")
        .given("/runs/claim", claimed())
        .conflict("unknown-run", with(all(), json!({ "storeKey": "runs:another" })));
    table
        .case("run that another generation reclaimed")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR }))
        .conflict("fenced", all());
    table
        .case("run that has finished")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", 4_000_000_000_000) })))
        .conflict("unknown-run", all());
}

/// Returns the table of a fenced route.
fn fenced(path: &str, fields: &Value) -> Table {
    let mut table = Table::of(path);
    fence(&mut table, fields);
    table
}
