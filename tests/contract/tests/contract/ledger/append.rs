//! `/runs/append`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{put, record},
};

use super::{HOUR, claimed, fenced, owned};

fn event(seq: i64, text: &str) -> Value {
    json!({ "seq": seq, "type": "text", "text": text })
}

/// Returns an event with this many bytes of JSON.
fn sized(bytes: usize) -> Value {
    let bare = event(1, "").to_string().len();
    event(1, &format!("{}{}", "é".repeat((bytes - bare) / 2), "x".repeat((bytes - bare) % 2)))
}

pub fn table(now: i64) -> Table {
    let mut table = fenced("/runs/append", &json!({ "events": [event(1, "a")] }));
    let all = json!({ "runId": "r" });
    table.case("events are required").refused("events", owned(json!({})));
    table.refuses("events", &[json!(null), json!({}), json!(WRONG)], |events| {
        owned(json!({ "events": events }))
    });
    let seqs = [json!(null), json!(0), json!(-1), json!(1.5), json!("1"), json!(9_007_199_254_740_993_i64)];
    table.refuses("events[1].seq", &seqs, |seq| {
        owned(json!({ "events": [event(1, "a"), { "seq": seq, "type": "text" }] }))
    });
    let no_events = [json!(null), json!(WRONG), json!([]), json!({}), json!({ "type": "text" })];
    table.refuses("events[1]", &no_events, |wrong| owned(json!({ "events": [event(1, "a"), wrong] })));
    table
        .case("one invalid event rejects the whole batch")
        .given("/runs/claim", claimed())
        .refused("events[1].seq", owned(json!({ "events": [event(1, "a"), event(0, "b")] })))
        .then("/runs/live-events", all.clone());
    table
        .case("one oversized event rejects the whole batch")
        .given("/runs/claim", claimed())
        .refused("events[1]", owned(json!({ "events": [event(2, "a"), sized(65_537)] })))
        .then("/runs/live-events", all.clone());
    let mut kept = |name: &str, earlier: Vec<Vec<Value>>, events: Vec<Value>| {
        let mut draft = table.case(name).given("/runs/claim", claimed());
        for events in earlier {
            draft = draft.given("/runs/append", owned(json!({ "events": events })));
        }
        draft.ok(owned(json!({ "events": events }))).then("/runs/live-events", all.clone());
    };
    kept("an empty batch is one", vec![], vec![]);
    kept(
        "events are returned in the order of their seqs",
        vec![vec![event(7, "c")]],
        vec![event(5, "b"), event(2, "a")],
    );
    kept(
        "a repeated batch changes nothing",
        vec![vec![event(1, "a"), event(2, "b")]],
        vec![event(1, "a"), event(2, "b")],
    );
    kept(
        "event replaces the one with its seq",
        vec![vec![event(1, "a"), event(2, "b")]],
        vec![event(2, "B")],
    );
    kept("of two with one seq the later counts", vec![], vec![event(1, "a"), event(1, "b")]);
    kept("an event of the greatest size, counted in bytes", vec![], vec![sized(65_536)]);
    kept(
        "everything of an event rides along",
        vec![],
        vec![json!({ "type": "of a later age", "seq": 4, "deep": { "a": [1.5, null, "\u{1f600}\u{0}"] } })],
    );
    kept("event without a type is stored but not returned", vec![], vec![json!({ "seq": 1 }), event(2, "b")]);
    kept(
        "event with a non-text type is stored but not returned",
        vec![],
        vec![json!({ "seq": 1, "type": 7 })],
    );
    kept(
        "a seq may be written with a point, and be great",
        vec![],
        vec![json!({ "seq": 2.0, "type": "a" }), json!({ "seq": 9_007_199_254_740_991_i64, "type": "b" })],
    );
    kept("a batch of thirty-two", vec![], (1..=32).map(|seq| event(seq, "x")).collect());
    table
        .case("batch of nearly two megabytes")
        .given("/runs/claim", claimed())
        .ok(owned(
            json!({ "events": (1..=31).map(|seq| event(seq, &"é".repeat(32_000))).collect::<Vec<_>>() }),
        ))
        .then("/runs/live-events", all.clone());
    table
        .case("owner may append with an expired lease, in a handoff and while finishing")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/append", owned(json!({ "events": [event(1, "in the handoff")] })))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now - 10 * HOUR }))
        .given("/runs/append", json!({ "runId": "r", "gen": "g2", "events": [event(2, "after the lease")] }))
        .given("/runs/finishing", json!({ "runId": "r", "gen": "g2" }))
        .ok(json!({ "runId": "r", "gen": "g2", "events": [event(3, "while finishing")] }))
        .then("/runs/live-events", all.clone());
    table
        .case("events of a run with a tombstone are kept and visible")
        .given("/runs/claim", claimed())
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(owned(json!({ "events": [event(1, "a")] })))
        .then("/runs/live-events", all)
        .then("/runs/get", json!({ "id": "r" }));
    table
}
