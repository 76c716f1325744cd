//! `/schedules/latest`. All cases share one store, so each sees the firings of earlier cases.

use serde_json::json;

use ars_tests_contract::{Table, WRONG, records::with};

use super::{firing, recorded};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/schedules/latest");
    table.case("before any firing there is none").ok(json!({}));
    for text in ["[]", "null", "7", "\"text\"", "{\"limit\":0}"] {
        table.case(format!("any JSON is accepted: {text}")).ok_text(text);
    }
    table
        .case("firing is returned unchanged")
        .given(
            "/schedules/record",
            recorded(with(firing("m", now - 1000), json!({ "runId": "r", "detail": "\u{1f600} \"\n" }))),
        )
        .ok(json!({}));
    table
        .case("newest of each schedule, sorted by name bytes")
        .given_each(
            "/schedules/record",
            [
                firing("b", now - 3000),
                firing("a b", now - 1),
                firing("B", now - 2000),
                firing("\u{e9}", now - 5),
                firing("b", now - 500),
            ]
            .map(recorded),
        )
        .ok(json!({}));
    table
        .case("older firing that arrives late is not the newest")
        .given("/schedules/record", recorded(with(firing("m", now - 9000), json!({ "detail": "late" }))))
        .ok(json!({}));
    table
        .case("of equal times the later write is the newest")
        .given("/schedules/record", recorded(with(firing("m", now - 1000), json!({ "detail": "second" }))))
        .ok(json!({ "schedule": WRONG }));
    table
}
