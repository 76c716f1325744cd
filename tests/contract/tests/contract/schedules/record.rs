//! `/schedules/record`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{with, without},
};

use super::{firing, recorded};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/schedules/record");
    let sound = || firing("nightly", now - 1000);
    table.case("firing is required").refused("firing", json!({}));
    table.refuses("firing", &[json!(null), json!(7), json!(WRONG), json!([])], recorded);
    for field in ["schedule", "firedAt", "outcome"] {
        let named = format!("firing.{field}");
        table.case(format!("{named} is required")).refused(&named, recorded(without(sound(), field)));
    }
    let rules: [(&str, Vec<Value>); 5] = [
        ("schedule", vec![json!(null), json!(7), json!(""), json!("é".repeat(201))]),
        ("firedAt", vec![json!(null), json!("5"), json!([])]),
        (
            "outcome",
            vec![
                json!(null),
                json!(""),
                json!("Completed"),
                json!("interrupted"),
                json!(WRONG),
                json!(["failed"]),
            ],
        ),
        ("runId", vec![json!(null), json!(7), json!("é".repeat(201))]),
        ("detail", vec![json!(null), json!(7), json!("é".repeat(301))]),
    ];
    for (field, values) in rules {
        table.refuses(&format!("firing.{field}"), &values, |value| {
            recorded(with(sound(), json!({ field: value })))
        });
    }
    for outcome in
        ["completed", "failed", "stopped_soft", "stopped_hard", "no-run", "ingress-error", "misconfigured"]
    {
        table
            .case(format!("outcome of {outcome} is accepted"))
            .ok(recorded(with(firing(&format!("of {outcome}"), now - 1000), json!({ "outcome": outcome }))));
    }
    table
        .case("maximum of every field")
        .ok(recorded(json!({ "schedule": "é".repeat(200), "firedAt": now as f64 - 0.5,
        "outcome": "failed", "runId": "é".repeat(200), "detail": "é".repeat(300) })));
    table
        .case("texts may be empty, except the schedule's name")
        .ok(recorded(with(firing("empty", -1), json!({ "runId": "", "detail": "" }))));
    table
        .case("retained counts the firings of this schedule")
        .given_each(
            "/schedules/record",
            [firing("a", now - 3000), firing("b", now - 3000), firing("a", now - 2000)].map(recorded),
        )
        .ok(recorded(firing("a", now - 1000)));
    table
        .case("equal firings are two")
        .given("/schedules/record", recorded(firing("twice", now - 1000)))
        .ok(recorded(firing("twice", now - 1000)));
    table
        .case("newest hundred of a schedule are kept")
        .given_each("/schedules/record", (0..100).map(|n| recorded(firing("busy", now - 10_000 + n))))
        .ok(recorded(firing("busy", now - 1000)));
    table
        .case("firing older than a hundred others is not kept")
        .given_each("/schedules/record", (0..100).map(|n| recorded(firing("late", now - 10_000 + n))))
        .ok(recorded(firing("late", now - 20_000)));
    table
        .case("rejected firing is not stored")
        .refused("firing.outcome", recorded(with(firing("refused", now - 1000), json!({ "outcome": WRONG }))))
        .then("/schedules/record", recorded(firing("refused", now - 500)));
    table
}
