//! `/runs/step`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{with, without},
};

use super::{HOUR, claimed, fenced, no_objects, owned, step};

const COUNTERS: [&str; 7] =
    ["step", "seq", "turnIndex", "inboxConsumedSeq", "remainingMs", "turn", "iteration"];

pub fn table(_now: i64) -> Table {
    let sound = || owned(json!({ "record": step(0) }));
    let mut table = fenced("/runs/step", &json!({ "record": step(0) }));
    validation(&mut table);
    let reclaim = json!({ "gen": "g2", "leaseMs": HOUR });
    let mut kept = |name: &str, steps: Vec<Value>, last: Value| {
        let mut draft = table.case(name).given("/runs/claim", claimed());
        for record in steps {
            draft = draft.given("/runs/step", owned(json!({ "record": record })));
        }
        draft
            .ok(owned(json!({ "record": last })))
            .then("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
            .then("/runs/reclaim", reclaim.clone());
    };
    kept(
        "a record is kept as it came, extra fields too",
        vec![],
        with(
            step(0),
            json!({ "inFlight": [{ "callId": "c", "tool": "bash", "more": 1 }], "later": { "a": [null] } }),
        ),
    );
    kept(
        "the same step again replaces it",
        vec![with(step(3), json!({ "seq": 1 }))],
        with(step(3), json!({ "seq": 2 })),
    );
    kept("the highest step is the last, whenever it came", vec![step(5)], step(4));
    kept("steps are numbers and not texts", vec![step(9)], step(10));
    kept(
        "counters may be great and written with a point",
        vec![],
        with(step(0), json!({ "step": 2.0, "seq": 9e15 })),
    );
    table
        .case("handed-off run still belongs to its owner")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .ok(sound());
    table
        .case("rejected record keeps the earlier one")
        .given("/runs/claim", claimed())
        .given("/runs/step", sound())
        .refused("record.turn", owned(json!({ "record": with(step(1), json!({ "turn": -1 })) })))
        .then("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .then("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR }));
    table
}

fn validation(table: &mut Table) {
    table.case("record is required").refused("record", owned(json!({})));
    table.refuses("record", &no_objects(), |record| owned(json!({ "record": record })));
    for field in COUNTERS.iter().chain(&["inFlight"]) {
        let named = format!("record.{field}");
        table
            .case(format!("{named} is required"))
            .refused(&named, owned(json!({ "record": without(step(0), field) })));
    }
    let body = |field: &str, value: Value| owned(json!({ "record": with(step(0), json!({ field: value })) }));
    for field in COUNTERS {
        let wrong = [json!(null), json!(-1), json!(0.5), json!("1")];
        table.refuses(&format!("record.{field}"), &wrong, |value| body(field, value));
    }
    table
        .refuses("record.inFlight", &[json!(null), json!({}), json!(WRONG)], |value| body("inFlight", value));
    let calls = [
        json!(null),
        json!(WRONG),
        json!({}),
        json!({ "callId": "c" }),
        json!({ "tool": "t" }),
        json!({ "callId": 1, "tool": "t" }),
    ];
    table.refuses("record.inFlight[1]", &calls, |call| {
        body("inFlight", json!([{ "callId": "c", "tool": "t" }, call]))
    });
}
