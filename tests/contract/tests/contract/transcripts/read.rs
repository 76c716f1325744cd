//! `/runs/transcript/read`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{attachment, owner, row, write};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/runs/transcript/read");
    table.case("unknown run is empty").ok(json!({}));
    table.case("owner without rows is empty").given("/runs/transcript/owner", owner()).ok(json!({}));
    table
        .case("rows are sorted numerically, not by arrival")
        .given("/runs/transcript/owner", owner())
        .given(
            "/runs/transcript/write",
            write(json!([row(10, 0, "e"), row(2, 10, "d"), row(2, 9, "c")]), json!([])),
        )
        .given("/runs/transcript/write", write(json!([row(0, 1, "b"), row(0, 0, "a")]), json!([])))
        .ok(json!({}));
    table
        .case("attachments are returned by name")
        .given("/runs/transcript/owner", owner())
        .given(
            "/runs/transcript/write",
            write(json!([]), json!([attachment("t1p0", "BB=="), attachment("t0p0", "AA==")])),
        )
        .ok(json!({}));
    table
        .case("read needs no ownership")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .ok(json!({ "gen": "g9" }));
    table
        .case("another run's is not returned")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .ok(json!({ "runId": "another" }));
    table
        .case("several megabytes are returned complete")
        .given("/runs/transcript/owner", owner())
        .given_each(
            "/runs/transcript/write",
            (0..4).map(|n| {
                write(
                    json!([row(n, 0, &"\"\n\u{1f600}".repeat(100_000))]),
                    json!([attachment(&format!("x{n}"), &"A".repeat(1_200_000))]),
                )
            }),
        )
        .ok(json!({}));
    table
}
