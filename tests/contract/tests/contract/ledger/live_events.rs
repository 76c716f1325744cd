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
    table.case("runId must be there").refused("runId", json!({}));
    table.refuses("runId", &wrong_ids(), |id| json!({ "runId": id }));
    table.case("an unknown run has none").ok(all());
    table.case("a run that has said nothing has none").given("/runs/claim", claimed()).ok(all());
    table
        .case("in the order of their seqs, gaps and all")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[10, 9]))
        .given("/runs/append", events(&[2]))
        .ok(all());
    table
        .case("another run's are not told, nor another store's")
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
        .case("a tombstone that is put beside them takes none away")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given("/runs/put", json!({ "record": record("r", now - 1000) }))
        .ok(all());
    table
        .case("a tombstone that the policy excludes takes none away")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given("/runs/put", json!({ "record": record("r", now - 31 * 86_400_000) }))
        .ok(all());
    table
        .case("what the next owner reads is what the last wrote")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": 1000 }))
        .ok(all());
    table
        .case("of a finished run what its record holds")
        .given("/runs/claim", claimed())
        .given("/runs/append", events(&[1, 2]))
        .given(
            "/runs/finish",
            owned(json!({ "record": record_of("r", now - 1000, &[json!({ "type": "z", "seq": 3 })]) })),
        )
        .ok(all());
    table
}
