//! A soak drill for the state Worker: short runs from claim to end, with reads between.
//!
//! The short form runs in CI, and `cargo xtask drill soak` runs the long form (docs/testing.md).

use ars_testkit::gauges::{RUNTIME_MEMORY_SLACK_KIB, Soak, Watched};
use ars_tests_workerd::{Client, state_worker};
use serde_json::json;

use crate::records::{call, now, record};

/// Runs in a short form round.
const UNITS: usize = 4;
/// The runtime's log, and the stored history, which grows by design until its retention.
const HISTORY: [&str; 2] = ["workerd", "state-RunStore"];

/// Sends the ten requests for a run. A transcript is an object. The runtime keeps it for seconds
/// after its last use, and its empty file stays on this machine, so rounds use the same
/// transcripts.
fn short_run(client: &Client, id: &str, transcript: &str) {
    let run = json!({
        "runId": id, "threadKey": id, "gen": "g", "leaseMs": 60_000, "startedAt": now(), "meta": {},
        "system": "be brief", "tools": [],
    });
    let of = |id: &str, fields: serde_json::Value| {
        let mut body = json!({ "runId": id, "gen": "g" });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        body
    };
    let (owned, written) = (|fields| of(id, fields), |fields| of(transcript, fields));
    call(client, "/runs/claim", json!({ "run": run }));
    call(client, "/runs/transcript/owner", written(json!({})));
    let row =
        json!({ "idx": 0, "part": 0, "json": format!("{{\"text\":\"{}\"}}", "x".repeat(10_000)) });
    call(
        client,
        "/runs/transcript/write",
        written(json!({ "rows": [row], "attachments": [] })),
    );
    let event = json!({ "seq": 1, "type": "text", "text": "on its way" });
    call(client, "/runs/append", owned(json!({ "events": [event] })));
    call(client, "/runs/live-events", json!({ "runId": id }));
    call(client, "/runs/live", json!({}));
    call(
        client,
        "/runs/finish",
        owned(json!({ "record": record(id, now(), 3) })),
    );
    call(client, "/runs/transcript/clear", written(json!({})));
    call(client, "/runs/get", json!({ "id": id }));
    call(client, "/runs/list", json!({ "limit": 5 }));
}

/// The runtime holds no more after many runs.
#[test]
fn soak_of_the_state_worker_is_flat() {
    let worker = state_worker();
    let watched = Watched {
        pid: worker.pid(),
        folder: worker.data_dir().to_owned(),
        history: &HISTORY,
        memory_slack_kib: RUNTIME_MEMORY_SLACK_KIB,
    };
    let mut soak = Soak::new(watched, UNITS, |name| std::env::var(name).ok());
    for round in 0..soak.rounds() {
        for unit in 0..soak.units() {
            short_run(
                &worker.client,
                &format!("soak-{round}-{unit}"),
                &format!("soak-{unit}"),
            );
        }
        soak.look(|| {
            call(&worker.client, "/runs/live", json!({}))["runs"]
                .as_array()
                .unwrap()
                .len() as u64
        });
    }
    soak.finish("the state Worker");
}
