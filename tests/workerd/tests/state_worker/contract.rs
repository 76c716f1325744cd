//! Put, get, list and events through the whole Worker.

use ars_tests_workerd::{TOKEN, state_worker};
use serde_json::{Value, json};

use crate::records::{STORE, call, now, put, record, try_call};

#[test]
fn a_record_comes_back_as_it_was_put() {
    let worker = state_worker();
    let written = record("run-1", now(), 3);
    let answer = call(&worker.client, "/runs/put", json!({ "record": written }));
    assert_eq!(answer, json!({ "ok": true, "retained": 1, "stored": true, "rewritten": false }));
    let mut read = call(&worker.client, "/runs/get", json!({ "id": "run-1" }))["record"].take();
    // Readers always see every category.
    read["diagnosis"]["byCategory"] = json!({});
    assert_eq!(read, written);
}

#[test]
fn putting_a_run_again_replaces_it_whole() {
    let worker = state_worker();
    let at = now();
    put(&worker.client, &record("run-1", at, 5));
    assert_eq!(put(&worker.client, &record("run-1", at, 5))["rewritten"], false);
    assert_eq!(put(&worker.client, &record("run-1", at, 2))["rewritten"], true);
    let events = call(&worker.client, "/runs/events", json!({ "id": "run-1" }));
    assert_eq!(events["events"].as_array().unwrap().len(), 2);
}

#[test]
fn an_unknown_run_is_null_and_not_an_error() {
    let worker = state_worker();
    assert_eq!(call(&worker.client, "/runs/get", json!({ "id": "nobody" })), json!({ "record": null }));
    assert_eq!(call(&worker.client, "/runs/events", json!({ "id": "nobody" })), json!({ "events": null }));
    assert_eq!(call(&worker.client, "/runs/list", json!({})), json!({ "items": [] }));
}

#[test]
fn stores_do_not_see_each_other() {
    let worker = state_worker();
    put(&worker.client, &record("run-1", now(), 1));
    let elsewhere = call(&worker.client, "/runs/get", json!({ "storeKey": "runs:other", "id": "run-1" }));
    assert_eq!(elsewhere, json!({ "record": null }));
}

#[test]
fn a_list_is_walked_by_its_cursor_without_gaps_or_repeats() {
    let worker = state_worker();
    let at = now() - 100_000;
    // Equal times on purpose: the id decides there.
    for index in 0..25_u64 {
        put(&worker.client, &record(&format!("run-{index:02}"), at + index / 3, 1));
    }
    let mut seen = Vec::new();
    let mut body = json!({ "limit": 4 });
    loop {
        let page = call(&worker.client, "/runs/list", body);
        let items = page["items"].as_array().unwrap();
        assert!(items.iter().all(|item| item.get("events").is_none() && item["bytes"].is_u64()), "{page}");
        seen.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page.get("nextBefore") else { break };
        body = json!({ "limit": 4, "before": cursor["finishedAt"], "beforeId": cursor["id"] });
    }
    let newest_first: Vec<_> = (0..25).rev().map(|index| format!("run-{index:02}")).collect();
    assert_eq!(seen, newest_first);
}

#[test]
fn a_list_is_narrowed_by_its_filters() {
    let worker = state_worker();
    let at = now() - 1000;
    put(&worker.client, &record("machine", at, 1));
    let mut public = record("public", at + 1, 1);
    public["channelVisibility"] = json!("public");
    public["agent"] = json!("general");
    put(&worker.client, &public);
    let ids = |filter: Value| {
        let page = call(&worker.client, "/runs/list", filter);
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(json!({ "agent": "general" })), ["public"]);
    assert_eq!(ids(json!({ "sinceMs": at + 1 })), ["public"]);
    let visible = json!({ "kind": "visibility-in", "visibilities": ["machine"] });
    assert_eq!(ids(json!({ "visibleTo": visible })), ["machine"]);
    assert!(ids(json!({ "visibleTo": { "kind": "none" } })).is_empty());
}

#[test]
fn events_are_paged_by_seq() {
    let worker = state_worker();
    put(&worker.client, &record("run-1", now(), 1500));
    let page = |body: Value| call(&worker.client, "/runs/events", body);
    let seqs = |page: &Value| {
        let seqs: Vec<_> =
            page["events"].as_array().unwrap().iter().map(|e| e["seq"].as_u64().unwrap()).collect();
        (seqs.len(), seqs.first().copied(), seqs.last().copied())
    };
    let first = page(json!({ "id": "run-1" }));
    assert_eq!((seqs(&first), &first["nextAfterSeq"]), ((1000, Some(1), Some(1000)), &json!(1000)));
    let second = page(json!({ "id": "run-1", "afterSeq": 1000 }));
    assert_eq!((seqs(&second), second.get("nextAfterSeq")), ((500, Some(1001), Some(1500)), None));
    assert_eq!(page(json!({ "id": "run-1", "afterSeq": 1500 })), json!({ "events": [] }));
}

#[test]
fn a_record_of_the_greatest_size_is_kept_whole() {
    let worker = state_worker();
    let mut large = record("large", now(), 24);
    // About 1.5 MiB in events of 64 KiB: the bot's own bound (document 2 section 8).
    for event in large["events"].as_array_mut().unwrap() {
        event["text"] = json!("é\"\n".repeat(12 * 1024));
    }
    let answer = call(&worker.client, "/runs/put", json!({ "record": large }));
    assert_eq!(answer["stored"], true);
    let read = call(&worker.client, "/runs/get", json!({ "id": "large" }));
    assert_eq!(read["record"]["events"], large["events"]);
}

#[test]
fn a_bad_field_is_named_and_its_value_is_not_repeated() {
    let worker = state_worker();
    let mut unfinished = record("run-1", now(), 1);
    unfinished["status"] = json!("hunter2");
    let cases = [
        ("/runs/get", json!({ "storeKey": "hunter2 hunter2", "id": "a" }), "storeKey "),
        ("/runs/get", json!({ "storeKey": 7, "id": "a" }), "storeKey "),
        ("/runs/get", json!({ "id": "hunter2!" }), "id "),
        ("/runs/put", json!({ "record": unfinished }), "record.status "),
        (
            "/runs/put",
            json!({ "record": record("r", now(), 1), "policy": { "maxRuns": 0 } }),
            "policy.maxRuns ",
        ),
        ("/runs/list", json!({ "limit": "hunter2" }), "limit "),
        ("/runs/list", json!({ "visibleTo": { "kind": "hunter2" } }), "visibleTo"),
        ("/runs/events", json!({ "id": "a", "limit": 5001 }), "limit "),
    ];
    for (path, body, named) in cases {
        let answer = try_call(&worker.client, path, body);
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        assert_eq!(answer.content_type, "application/json");
        let error = answer.body["error"].as_str().unwrap();
        assert!(error.starts_with(named) && !error.contains("hunter2"), "{path}: {error}");
        assert_eq!(answer.body.as_object().unwrap().len(), 1);
    }
}

#[test]
fn a_body_that_is_not_a_json_object_is_refused() {
    let worker = state_worker();
    let deep = format!(r#"{{"storeKey":"{STORE}","id":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let bodies: [&[u8]; 8] =
        [b"", b"null", b"7", b"\"text\"", b"[]", b"{", b"{\"storeKey\":\"\xff\"}", deep.as_bytes()];
    for body in bodies {
        let answer = worker.client.post_bytes("/runs/get", TOKEN, body);
        assert_eq!(answer.status, 400, "{:?}", String::from_utf8_lossy(body));
        assert!(answer.body["error"].as_str().unwrap().starts_with("body "), "{answer:?}");
    }
    // Nothing of that was a fault of ours.
    assert!(!worker.log().contains("fault"), "{}", worker.log());
}
