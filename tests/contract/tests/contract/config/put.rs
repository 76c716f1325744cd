//! `/config/put`.

use serde_json::{Value, json};

use ars_tests_contract::{Table, WRONG};

use super::replacing;

/// Maximum bytes of a document.
const MAX_DOCUMENT: usize = 256 * 1024;

/// Returns a document of this size.
fn sized(bytes: usize) -> Value {
    let around = json!({ "a": "" }).to_string().len();
    json!({ "a": "x".repeat(bytes - around) })
}

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/config/put");
    table.case("document is required").refused("document", json!({ "expectedVersion": 0 }));
    table.refuses("document", &[json!(null), json!(7), json!(WRONG), json!([])], |document| {
        replacing(0, document)
    });
    table.case("expectedVersion is required").refused("expectedVersion", json!({ "document": {} }));
    table.refuses(
        "expectedVersion",
        &[json!(null), json!("0"), json!(-1), json!(0.5), json!([])],
        |version| json!({ "document": {}, "expectedVersion": version }),
    );
    table
        .case("first put creates version 1")
        .ok(replacing(0, json!({ "first": true })))
        .then("/config/get", json!({}));
    table
        .case("put with the newest version replaces the document")
        .given("/config/put", replacing(0, json!({ "a": 1, "b": 2 })))
        .ok(json!({ "document": { "b": 3 }, "expectedVersion": 1.0 }))
        .then("/config/get", json!({}));
    table
        .case("future version is stale")
        .stale(0, replacing(1, json!({ "by": WRONG })))
        .then("/config/get", json!({}));
    table
        .case("past version is stale and changes nothing")
        .given_each("/config/put", [replacing(0, json!({ "nth": 1 })), replacing(1, json!({ "nth": 2 }))])
        .stale(2, replacing(1, json!({ "by": WRONG })))
        .then("/config/get", json!({}));
    table
        .case("second first put is stale")
        .given("/config/put", replacing(0, json!({ "nth": 1 })))
        .stale(1, replacing(0, json!({ "nth": 2 })));
    table.case("version beyond all is stale").stale(0, replacing(u64::MAX, json!({})));
    table.case("document of the maximum size").ok(replacing(0, sized(MAX_DOCUMENT)));
    table
        .case("document of one byte more is rejected and not stored")
        .too_large(replacing(0, sized(MAX_DOCUMENT + 1)))
        .then("/config/get", json!({}));
    table
        .case("lone surrogate is replaced")
        .ok_text(r#"{"key":"mended","expectedVersion":0,"document":{"cut":"a\ud83d"}}"#)
        .then("/config/get", json!({ "key": "mended" }));
    table
}
