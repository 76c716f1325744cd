//! `/runs/live-events`.

use serde_json::json;

use ars_tests_contract::{
    Table,
    records::{record, record_of},
};

use super::{claim, claimed, owned, run, wrong_ids};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/live-events");
    let all = || json!({ "runId": "r" });
    let events = |seqs: &[i64]| {
        let events: Vec<_> = seqs.iter().map(|seq| json!({ "type": "a", "seq": seq })).collect();
        owned(json!({ "events": events }))
    };
    table.case("runId is required").refused("runId", json!({}));
    table.refuses("runId", &wrong_ids(), |id| json!({ "runId": id }));
    table.case("unknown run has none").ok(all());
    table.case("run without events has none").given("/runs/claim", claimed()).ok(all());
    table
        .case("in the order of their seqs, with gaps")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[10, 9]))
        .given("/runs/append", events(&[2]))
        .ok(all());
    table
        .case("another run's and another store's are not returned")
        .given("/runs/claim", claimed())
        .given("/runs/claim", claim(run("r2", "t2", "g1")))
        .given("/runs/append", events(&[1]))
        .ok(json!({ "runId": "r2" }))
        .then("/runs/live-events", json!({ "storeKey": "runs:another", "runId": "r" }));
    table
        .case("all of them, however many")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&(1..=1500).collect::<Vec<_>>()))
        .ok(all());
    table
        .case("tombstone keeps the events")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given("/runs/put", json!({ "record": record("r", now - 1000) }))
        .ok(all());
    table
        .case("tombstone excluded by the policy keeps the events")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given("/runs/put", json!({ "record": record("r", now - 31 * 86_400_000) }))
        .ok(all());
    table
        .case("next owner reads the rows of the last")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": 1000 }))
        .ok(all());
    table
        .case("finished run has the events of its record")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given(
            "/runs/finish",
            owned(json!({ "record": record_of("r", now - 1000, &[json!({ "type": "z", "seq": 3 })]) })),
        )
        .ok(all());
    table
}
