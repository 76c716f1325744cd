//! Transcripts: large and unusual texts.

use serde_json::{Value, json};

use crate::pair::Pair;

fn write(generation: &str, rows: Value, attachments: Value) -> Value {
    json!({ "gen": generation, "rows": rows, "attachments": attachments })
}

#[test]
fn transcripts_are_equal() {
    let mut pair = Pair::start();
    let row = |idx: i64, part: i64, text: &str| json!({ "idx": idx, "part": part, "json": text });
    let file =
        |name: &str, data: &str| json!({ "ref": name, "mediaType": "image/png", "data": data });
    pair.store("r");
    let one = || write("g1", json!([row(0, 0, "a")]), json!([]));
    pair.ask("/runs/transcript/write", 409, one());
    pair.ok("/runs/transcript/owner", json!({ "gen": "g1" }));
    pair.ok("/runs/transcript/read", json!({}));
    for (rows, files) in [
        (json!([]), json!([])),
        (
            json!([
                row(10, 0, ""),
                row(2, 10, "{no json \u{1f600}\u{0}\"\n"),
                row(2, 9, "c")
            ]),
            json!([file("", "")]),
        ),
        (
            json!([row(2, 9, "C"), row(0, 0, "a"), row(0, 0, "b")]),
            json!([file("t1", "AA=="), file("t1", "BB==")]),
        ),
        (
            json!([{ "idx": 2.0, "part": 9_007_199_254_740_991_i64, "json": "last", "more": 1 }]),
            json!([file("t0", "")]),
        ),
        (json!([row(3, 0, &"é".repeat(750_000))]), json!([])),
        (json!([]), json!([file("large", &"A".repeat(2_090_000))])),
        (
            (0..300).map(|n| row(20 + n / 10, n % 10, "x")).collect(),
            json!([]),
        ),
    ] {
        pair.ok("/runs/transcript/write", write("g1", rows, files));
        pair.ok("/runs/transcript/read", json!({}));
    }
    pair.ask(
        "/runs/transcript/write",
        400,
        write("g1", json!([{ "idx": -1 }]), json!([])),
    );
    // The ledger's fence is separate.
    let claim = json!({ "runId": "r", "threadKey": "t", "gen": "g9", "leaseMs": 1000, "startedAt": 1, "meta": {},
        "system": "", "tools": [] });
    pair.ok("/runs/claim", json!({ "storeKey": "runs:x", "run": claim }));
    pair.ok("/runs/transcript/write", one());
    pair.ok("/runs/transcript/owner", json!({ "gen": "g2" }));
    pair.ask("/runs/transcript/write", 409, one());
    pair.ok("/runs/transcript/read", json!({ "runId": "another" }));
    pair.ask("/runs/transcript/clear", 409, json!({ "gen": "g1" }));
    pair.ok("/runs/transcript/read", json!({}));
    pair.ok("/runs/transcript/clear", json!({ "gen": "g2" }));
    pair.ok("/runs/transcript/read", json!({}));
    pair.ask("/runs/transcript/write", 409, one());
    pair.ok("/runs/transcript/clear", json!({ "gen": "g1" }));
    pair.ok("/runs/transcript/owner", json!({ "gen": "g2" }));
    pair.ok("/runs/transcript/clear", json!({}));
    pair.ask("/runs/transcript/write", 409, one());
    pair.finish();
}
