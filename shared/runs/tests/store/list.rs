//! `/runs/list`.

use ars_sql::Sql as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{NOW, Store, ids, record, store, with};

fn numbered(count: i64) -> Store {
    let store = store();
    for n in 0..count {
        store.put(record(&format!("r{n:03}"), NOW - n));
    }
    store
}

#[test]
fn item_has_the_size_and_no_events() {
    let store = store();
    let sent = with(
        record("r1", NOW),
        json!({ "label": "l", "replyOk": true, "later": 1, "channelVisibility": "dm" }),
    );
    store.put(sent.clone());
    let item = store.list(json!({}))["items"][0].take();
    let mut expected = store.get("r1");
    expected.as_object_mut().unwrap().shift_remove("events");
    assert_eq!(
        item,
        with(expected, json!({ "bytes": sent.to_string().len() }))
    );
}

#[test]
fn empty_store_answer_is_exact() {
    assert_eq!(
        store()
            .0
            .list(r#"{"storeKey":"runs:default"}"#, NOW)
            .unwrap(),
        r#"{"items":[]}"#
    );
}

#[test]
fn newest_first_and_ties_by_id_bytes() {
    let store = store();
    for (id, at) in [
        ("b", NOW),
        ("B", NOW),
        ("a", NOW),
        ("_", NOW),
        ("-", NOW),
        ("z", NOW - 1),
        ("0", NOW + 1),
    ] {
        store.put(record(id, at));
    }
    assert_eq!(store.listed(json!({})), ["0", "b", "a", "_", "B", "-", "z"]);
}

#[test]
fn full_last_page_has_a_cursor() {
    let store = numbered(4);
    let cursor = |id: &str, at: i64| json!({ "finishedAt": at, "id": id });
    let first = store.list(json!({ "limit": 2 }));
    assert_eq!(
        (ids(&first), &first["nextBefore"]),
        (vec!["r000".into(), "r001".into()], &cursor("r001", NOW - 1))
    );
    let last = store.list(json!({ "limit": 2, "before": NOW - 1, "beforeId": "r001" }));
    assert_eq!(
        (ids(&last), &last["nextBefore"]),
        (vec!["r002".into(), "r003".into()], &cursor("r003", NOW - 3))
    );
    let beyond = store.list(json!({ "limit": 2, "before": NOW - 3, "beforeId": "r003" }));
    assert_eq!(beyond, json!({ "items": [] }));
    assert_eq!(store.list(json!({ "limit": 5 })).get("nextBefore"), None);
}

#[test]
fn answer_with_cursor_is_exact() {
    let answer = numbered(2).0.list(r#"{"limit":1}"#, NOW).unwrap();
    assert!(
        answer.ends_with(r#"],"nextBefore":{"finishedAt":1700000000000,"id":"r000"}}"#),
        "{answer}"
    );
}

#[test]
fn limit_defaults_to_50_and_clamps_to_200() {
    let store = numbered(205);
    for (limit, expected) in [
        (json!({}), 50),
        (json!({ "limit": 200 }), 200),
        (json!({ "limit": 201 }), 200),
        (json!({ "limit": 1e9 }), 200),
    ] {
        assert_eq!(store.listed(limit.clone()).len(), expected, "{limit}");
    }
}

#[test]
fn a_cursor_is_strictly_after() {
    let store = store();
    for id in ["a", "b", "c"] {
        store.put(record(id, NOW));
    }
    store.put(record("old", NOW - 1));
    for (request, expected) in [
        (
            json!({ "before": NOW, "beforeId": "c" }),
            vec!["b", "a", "old"],
        ),
        (
            json!({ "before": NOW, "beforeId": "bb" }),
            vec!["b", "a", "old"],
        ),
        (json!({ "before": NOW }), vec!["old"]),
        (json!({ "before": NOW as f64 - 0.5 }), vec!["old"]),
        (json!({ "beforeId": "b" }), vec!["c", "b", "a", "old"]),
        (json!({ "before": -1 }), vec![]),
    ] {
        assert_eq!(store.listed(request.clone()), expected, "{request}");
    }
}

#[test]
fn since_is_inclusive() {
    let store = numbered(3);
    assert_eq!(
        store.listed(json!({ "sinceMs": NOW - 1 })),
        ["r000", "r001"]
    );
    assert_eq!(
        store.listed(json!({ "sinceMs": NOW as f64 - 0.5 })),
        ["r000"]
    );
    assert_eq!(
        store.listed(json!({ "sinceMs": -1e300 })),
        ["r000", "r001", "r002"]
    );
    assert_eq!(
        store.listed(json!({ "sinceMs": NOW + 1 })),
        Vec::<String>::new()
    );
}

#[test]
fn filters_are_exact_and_combined() {
    let store = store();
    for (id, changes) in [
        ("a", json!({ "agent": "coding", "channelId": "C1" })),
        ("b", json!({ "agent": "coding", "channelId": "C2" })),
        ("c", json!({ "agent": "Coding", "channelId": "C1" })),
        ("d", json!({ "channelId": "C1" })),
    ] {
        store.put(with(record(id, NOW), changes));
    }
    for (request, expected) in [
        (json!({ "agent": "coding" }), vec!["b", "a"]),
        (json!({ "channel": "C1" }), vec!["d", "c", "a"]),
        (json!({ "agent": "coding", "channel": "C1" }), vec!["a"]),
        (
            json!({ "agent": "coding", "visibleTo": { "kind": "channels-in", "channelIds": ["C2"] } }),
            vec!["b"],
        ),
        (json!({ "agent": "cod%" }), vec![]),
    ] {
        assert_eq!(store.listed(request.clone()), expected, "{request}");
    }
}

#[test]
fn large_pages_end_by_bytes() {
    let store = store();
    for n in 0..160 {
        store.put(with(
            record(&format!("r{n:03}"), NOW - n),
            json!({ "label": "x".repeat(60_000) }),
        ));
    }
    let mut request = json!({ "limit": 150 });
    let mut pages = Vec::new();
    loop {
        let page = store.list(request.clone());
        assert!(page.to_string().len() < (4 << 20) + 1_000);
        pages.push(ids(&page));
        let Some(next) = page.get("nextBefore") else {
            break;
        };
        request["before"] = next["finishedAt"].clone();
        request["beforeId"] = next["id"].clone();
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [69, 69, 22]);
    let expected: Vec<_> = (0..160).map(|n| format!("r{n:03}")).collect();
    assert_eq!(pages.concat(), expected);
}

fn times() -> impl Strategy<Value = Vec<(u16, i64)>> {
    prop::collection::vec((0_u16..60, 0_i64..12), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_yield_every_run_once_newest_first(runs in times(), limit in 1_i64..9) {
        let store = store();
        let mut expected = std::collections::BTreeMap::new();
        for (id, age) in runs {
            let id = format!("r{id}");
            store.put(record(&id, NOW - age));
            expected.insert(id, NOW - age);
        }
        let mut expected: Vec<_> = expected.into_iter().map(|(id, at)| (at, id)).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        let mut walked = Vec::new();
        let mut request = json!({ "limit": limit });
        loop {
            let page = store.list(request.clone());
            let items = page["items"].as_array().unwrap();
            prop_assert!(items.len() <= usize::try_from(limit).unwrap());
            walked.extend(items.iter().map(|item| {
                (item["finishedAt"].as_i64().unwrap(), item["id"].as_str().unwrap().to_owned())
            }));
            let next = &page["nextBefore"];
            prop_assert_eq!(next.is_object(), items.len() == usize::try_from(limit).unwrap());
            if next == &Value::Null {
                break;
            }
            request = json!({ "limit": limit, "before": next["finishedAt"], "beforeId": next["id"] });
        }
        prop_assert_eq!(walked, expected);
    }
}

#[test]
fn empty_agent_differs_from_absent_agent() {
    let store = store();
    store.put(record("without", NOW));
    store.put(with(record("empty", NOW), json!({ "agent": "" })));
    assert_eq!(store.listed(json!({ "agent": "" })), ["empty"]);
}

#[test]
fn policy_of_a_read_is_ignored() {
    let store = numbered(1);
    assert_eq!(
        store.listed(json!({ "policy": "x", "policyUpdatedAt": [] })),
        ["r000"]
    );
}

/// Rows from an earlier release have no brief form, and neither has a record with a large field.
#[test]
fn items_without_diagnoses_omit_nothing_else() {
    let store = store();
    let of_large_label = json!({ "label": "x".repeat(20_000), "repo": "acme/app" });
    store.put(with(
        record("plain", NOW),
        json!({ "channelVisibility": "dm", "later": [1, "\u{1f600}"] }),
    ));
    store.put(with(
        record("unknown", NOW - 1),
        json!({ "bytes": "own", "label": "\u{0}" }),
    ));
    store.put(with(record("large", NOW - 2), of_large_label));
    store.put(record("earlier", NOW - 3));
    store.put(record("corrupt", NOW - 4));
    let sql = store.0.sql();
    sql.execute(
        "UPDATE runs SET brief = NULL WHERE id IN ('earlier', 'corrupt')",
        &[],
    )
    .unwrap();
    sql.execute("UPDATE runs SET record = '{' WHERE id = 'corrupt'", &[])
        .unwrap();
    let mut whole = store.list(json!({}));
    for item in whole["items"].as_array_mut().unwrap() {
        item.as_object_mut()
            .unwrap()
            .shift_remove("diagnosis")
            .unwrap();
    }
    assert_eq!(ids(&whole), ["plain", "unknown", "large", "earlier"]);
    assert_eq!(whole["items"][1]["channelVisibility"], "unknown");
    assert_eq!(store.list(json!({ "diagnosis": false })), whole);
}

#[test]
fn scan_limit_ends_a_page_with_a_cursor() {
    let store = store();
    for n in 0..10 {
        let user = if n % 4 == 0 { "U2" } else { "U1" };
        store.put(with(
            record(&format!("r{n}"), NOW - n / 2),
            json!({ "userId": user }),
        ));
    }
    let filter = json!({ "kind": "user-is", "userId": "U2" });
    let mut request = json!({ "visibleTo": filter, "maxScanned": 3 });
    let mut pages = Vec::new();
    loop {
        let page = store.list(request.clone());
        pages.push(ids(&page));
        let Some(next) = page.get("nextBefore") else {
            break;
        };
        request["before"] = next["finishedAt"].clone();
        request["beforeId"] = next["id"].clone();
    }
    // Newest first: r1 r0 r3, r2 r5 r4, r7 r6 r9, r8.
    assert_eq!(pages, [vec!["r0"], vec!["r4"], vec![], vec!["r8"]]);
    // A full page ends before the limit, and a search without a filter skips no row.
    request = json!({ "visibleTo": filter, "maxScanned": 9, "limit": 1 });
    assert_eq!(store.list(request)["nextBefore"]["id"], "r0");
    assert_eq!(store.listed(json!({ "maxScanned": 3 })).len(), 10);
}
