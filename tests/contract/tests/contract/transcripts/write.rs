//! `/runs/transcript/write`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{with, without},
};

use super::{attachment, owner, row, write, wrong_generations};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/runs/transcript/write");
    validation(&mut table);
    fence(&mut table);
    let all = || json!({});
    let mut kept = |name: &str, earlier: Value, later: Value| {
        table
            .case(name)
            .given("/runs/transcript/owner", owner())
            .given("/runs/transcript/write", earlier)
            .ok(later)
            .then("/runs/transcript/read", all());
    };
    let nothing = || write(json!([]), json!([]));
    kept("both lists may be empty", nothing(), nothing());
    kept(
        "rows and attachments are kept beside the earlier ones",
        write(json!([row(0, 0, "a")]), json!([attachment("t0p0", "AA==")])),
        write(json!([row(0, 1, "b"), row(1, 0, "c")]), json!([attachment("t1p0", "BB==")])),
    );
    kept(
        "row and attachment replace those at their positions",
        write(json!([row(0, 0, "a"), row(0, 1, "b")]), json!([attachment("x", "AA==")])),
        write(json!([row(0, 1, "B")]), json!([with(attachment("x", "BB=="), json!({ "mediaType": "m" }))])),
    );
    kept(
        "of two with one place the later counts",
        nothing(),
        write(
            json!([row(0, 0, "a"), row(0, 0, "b")]),
            json!([attachment("x", "AA=="), attachment("x", "BB==")]),
        ),
    );
    kept(
        "texts are opaque and may be empty",
        nothing(),
        write(
            json!([row(0, 0, ""), row(0, 1, "{no json \u{1f600}\u{0}\"\n")]),
            json!([with(attachment("", ""), json!({ "mediaType": "" }))]),
        ),
    );
    kept(
        "places are integers, great ones too, and may be written with a point",
        nothing(),
        write(
            json!([{ "idx": 2.0, "part": 9_007_199_254_740_991_i64, "json": "a", "more": WRONG }]),
            json!([]),
        ),
    );
    kept(
        "a part of the greatest size",
        nothing(),
        write(json!([row(0, 0, &"é".repeat(750_000))]), json!([])),
    );
    kept(
        "an attachment of nearly two megabytes",
        nothing(),
        write(json!([]), json!([attachment("x", &"A".repeat(2_090_000))])),
    );
    kept(
        "many rows at once",
        nothing(),
        write((0..300).map(|n| row(n / 10, n % 10, "x")).collect(), json!([])),
    );
    table
}

fn validation(table: &mut Table) {
    let nothing = || write(json!([]), json!([]));
    for field in ["gen", "rows", "attachments"] {
        table.case(format!("{field} is required")).refused(field, without(nothing(), field));
    }
    table.refuses("gen", &wrong_generations(), |generation| with(nothing(), json!({ "gen": generation })));
    for field in ["rows", "attachments"] {
        let wrong = [json!(null), json!({}), json!(WRONG)];
        table.refuses(field, &wrong, |value| with(nothing(), json!({ field: value })));
        let entries = [json!(null), json!(7), json!(WRONG), json!([]), json!({})];
        table.refuses(&format!("{field}[0]"), &entries, |entry| with(nothing(), json!({ field: [entry] })));
    }
    let second = |field: &str, value: Value| {
        write(json!([row(0, 0, "a"), with(row(0, 1, "b"), json!({ field: value }))]), json!([]))
    };
    for field in ["idx", "part"] {
        let wrong = [json!(null), json!(-1), json!(0.5), json!("1"), json!(9_007_199_254_740_993_i64)];
        table.refuses(&format!("rows[1].{field}"), &wrong, |value| second(field, value));
    }
    let texts = [json!(null), json!(7), json!({}), json!([WRONG])];
    table.refuses("rows[1].json", &texts, |value| second("json", value));
    table
        .case("part has at most 1500000 bytes")
        .refused("rows[0].json", write(json!([row(0, 0, &format!("{}x", "é".repeat(750_000)))]), json!([])));
    for field in ["ref", "mediaType", "data"] {
        table.refuses(&format!("attachments[1].{field}"), &texts, |value| {
            let wrong = with(attachment("y", "BB=="), json!({ field: value }));
            write(json!([]), json!([attachment("x", "AA=="), wrong]))
        });
        let named = format!("attachments[0].{field}");
        let wrong = without(attachment("x", "AA=="), field);
        table.case(format!("{named} is required")).refused(&named, write(json!([]), json!([wrong])));
    }
    table
        .case("one malformed entry rejects the whole request")
        .given("/runs/transcript/owner", owner())
        .refused(
            "attachments[0].data",
            write(json!([row(0, 0, "a")]), json!([{ "ref": "x", "mediaType": "m" }])),
        )
        .then("/runs/transcript/read", json!({}));
    table
        .case("malformed requests are rejected before the owner check")
        .refused("rows", with(nothing(), json!({ "rows": 7 })));
}

fn fence(table: &mut Table) {
    let one = || write(json!([row(0, 0, "a")]), json!([attachment("x", "AA==")]));
    table
        .case("without an owner no write is accepted")
        .conflict("unknown-run", one())
        .then("/runs/transcript/read", json!({}));
    table
        .case("write by another generation is rejected")
        .given("/runs/transcript/owner", json!({ "gen": "g2" }))
        .conflict("fenced", one())
        .then("/runs/transcript/read", json!({}));
    table
        .case("empty write is fenced too")
        .given("/runs/transcript/owner", json!({ "gen": "g2" }))
        .conflict("fenced", write(json!([]), json!([])));
    table
        .case("after a clear the owner is unknown")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/clear", json!({}))
        .conflict("unknown-run", one());
    table
        .case("ledger's fence is separate")
        .given("/runs/transcript/owner", owner())
        .given(
            "/runs/claim",
            json!({ "run": { "runId": "r", "threadKey": "t", "gen": "g9", "leaseMs": 1000, "startedAt": 1,
                "meta": {}, "system": "", "tools": [] } }),
        )
        .ok(one());
}
