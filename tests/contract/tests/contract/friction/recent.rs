//! `/friction/recent`.

use serde_json::{Value, json};

use ars_tests_contract::{Table, WRONG, records::with};

use super::{friction, recorded};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/friction/recent");
    let limits = [json!(null), json!(0), json!(-1), json!(1001), json!(1.5), json!("5")];
    table.refuses("limit", &limits, |limit| json!({ "limit": limit }));
    table.refuses(
        "sinceMs",
        &[json!(null), json!(-1), json!(-0.5), json!("5"), json!(WRONG)],
        |since| json!({ "sinceMs": since }),
    );
    table.case("unknown ledger has none").ok(json!({}));
    table
        .case("minimum and maximum limit")
        .ok(json!({ "limit": 1 }))
        .then("/friction/recent", json!({ "limit": 1000 }));
    let four = || {
        [("b", 2000), ("a", 1000), ("d", 2000), ("c", 3000)]
            .map(|(run, ago)| recorded(friction(run, now - ago)))
    };
    let mut asked = |name: &str, body: Value| {
        table.case(name).given_each("/friction/record", four()).ok(body);
    };
    asked("the oldest first, of equal times the smaller name", json!({}));
    asked("the newest so many, the oldest of them first", json!({ "limit": 2 }));
    asked("a time is cut between equals by the name", json!({ "limit": 2, "sinceMs": now - 2000 }));
    asked("since a time, that time included", json!({ "sinceMs": now - 2000 }));
    asked("since a time with a fraction", json!({ "sinceMs": now as f64 - 1999.5 }));
    asked("since 0 is since ever", json!({ "sinceMs": 0 }));
    asked("since the far future there are none", json!({ "sinceMs": 1e300 }));
    asked("unknown fields are ignored", json!({ "limit": 1, "before": WRONG }));
    table
        .case("default of five hundred")
        .given_each(
            "/friction/record",
            (0..501).map(|n| recorded(friction(&format!("r{n:03}"), now - 10_000 + n))),
        )
        .ok(json!({}));
    table
        .case("another ledger's are not returned")
        .given(
            "/friction/record",
            with(recorded(friction("r", now)), json!({ "ledgerKey": "friction:secret" })),
        )
        .ok(json!({}));
    table
}
