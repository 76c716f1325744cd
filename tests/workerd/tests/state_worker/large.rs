//! Answers too large for one piece: they come whole, in order, and with their length, as any other does (docs/platform.md
//! tells what they cost in memory).

use ars_tests_workerd::{Client, TOKEN, state_worker};
use serde_json::{Value, json};

use crate::records::{STORE, call};

/// Characters of what is large: one short of being quoted, and some that JSON and JavaScript write in more bytes.
const LARGE: [(&str, usize); 3] = [("A", 1_400_000), ("\"\n\u{1}", 200_000), ("é✓\u{1F600}", 120_000)];

/// The answer's JSON, which must be as long as its head says.
fn whole(client: &Client, path: &str, body: &Value) -> Value {
    let answer = client.post(path, TOKEN, body);
    assert_eq!((answer.status, answer.content_type.as_str()), (200, "application/json"), "{path}");
    assert_eq!(answer.declared, Some(answer.bytes), "{path}");
    answer.body
}

#[test]
fn a_transcript_of_many_pieces_is_read_as_it_was_written() {
    let worker = state_worker();
    let client = &worker.client;
    call(client, "/runs/transcript/owner", json!({ "runId": "r", "gen": "g" }));
    // Large rows among small ones, and many small ones that make up pieces together.
    let large = LARGE.iter().map(|(text, times)| text.repeat(*times));
    let small = (0..3_000).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}", "ü".repeat(100)));
    let rows: Vec<_> = large
        .clone()
        .chain(small)
        .chain(large.clone())
        .enumerate()
        .map(|(at, text)| json!({ "idx": at / 2, "part": at % 2, "json": text }))
        .collect();
    let attachments: Vec<_> = (0..3)
        .map(|n| json!({ "ref": format!("a{n}"), "mediaType": "image/png", "data": "A".repeat(1_000_000) }))
        .collect();
    for batch in rows[..3].chunks(1).chain(rows[3..3_003].chunks(500)).chain(rows[3_003..].chunks(1)) {
        let body = json!({ "runId": "r", "gen": "g", "rows": batch, "attachments": [] });
        call(client, "/runs/transcript/write", body);
    }
    for attachment in &attachments {
        let body = json!({ "runId": "r", "gen": "g", "rows": [], "attachments": [attachment] });
        call(client, "/runs/transcript/write", body);
    }
    let read = whole(client, "/runs/transcript/read", &json!({ "runId": "r" }));
    assert!(read == json!({ "rows": rows, "attachments": attachments }), "as it was written");
    // And the object is none the worse for it.
    assert!(whole(client, "/runs/transcript/read", &json!({ "runId": "r" })) == read);
}

#[test]
fn live_events_of_many_pieces_are_all_there_in_order() {
    let worker = state_worker();
    let client = &worker.client;
    let run = json!({
        "runId": "r", "threadKey": "t", "gen": "g", "leaseMs": 1000, "startedAt": 1, "meta": {}, "system": "",
        "tools": [],
    });
    call(client, "/runs/claim", json!({ "run": run }));
    let events: Vec<_> = (1..=300)
        .map(|seq| json!({ "seq": seq, "type": "text", "text": "é✓".repeat(5_000 + seq) }))
        .collect();
    for batch in events.chunks(30) {
        call(client, "/runs/append", json!({ "runId": "r", "gen": "g", "events": batch }));
    }
    let read = whole(client, "/runs/live-events", &json!({ "storeKey": STORE, "runId": "r" }));
    assert!(read == json!({ "events": events }), "as they were appended");
}

#[test]
fn a_ledger_of_many_pieces_is_read_in_its_order() {
    let worker = state_worker();
    let client = &worker.client;
    let diagnosis = json!({ "findings": [], "eventCount": 0, "verdict": "", "byCategory": {} });
    let records: Vec<_> = (0..60)
        .map(|n| json!({ "runId": format!("r{n}"), "finishedAt": n, "diagnosis": diagnosis, "label": "é".repeat(60_000) }))
        .collect();
    for record in records.iter().rev() {
        call(client, "/friction/record", json!({ "ledgerKey": "friction:acme/app", "record": record }));
    }
    let read = whole(client, "/friction/recent", &json!({ "ledgerKey": "friction:acme/app" }));
    assert!(read == json!({ "records": records }), "as they were recorded");
}

#[test]
fn reading_tens_of_megabytes_time_and_again_takes_less_than_thrice_as_much_memory() {
    let mut worker = state_worker();
    let client = &worker.client;
    call(client, "/runs/transcript/owner", json!({ "runId": "r", "gen": "g" }));
    // Text of two bytes a character in JavaScript, as soon as it is a string there.
    let part = "a line of \"quoted\" text ✓\n".repeat(50_000);
    for idx in 0..24 {
        let rows = json!([{ "idx": idx, "part": 0, "json": part }]);
        call(
            client,
            "/runs/transcript/write",
            json!({ "runId": "r", "gen": "g", "rows": rows, "attachments": [] }),
        );
    }
    // What writing left behind is not to be counted, nor what a first request sets up.
    worker.kill_and_restart();
    call(&worker.client, "/runs/transcript/read", json!({ "runId": "unknown" }));
    let mut bytes = 0;
    let peak = worker.peak_of(|| {
        for _ in 0..4 {
            bytes = worker.client.post("/runs/transcript/read", TOKEN, &json!({ "runId": "r" })).bytes;
        }
    });
    assert!(bytes > 33_000_000, "{bytes}");
    assert!(peak < 3 * bytes, "{peak} bytes of memory for {bytes} of an answer");
}

#[test]
fn a_reader_that_leaves_in_the_middle_harms_nobody() {
    let worker = state_worker();
    let client = &worker.client;
    call(client, "/runs/transcript/owner", json!({ "runId": "r", "gen": "g" }));
    let attachment =
        |n: u32| json!({ "ref": format!("a{n}"), "mediaType": "image/png", "data": "A".repeat(1_500_000) });
    for n in 0..8 {
        let body = json!({ "runId": "r", "gen": "g", "rows": [], "attachments": [attachment(n)] });
        call(client, "/runs/transcript/write", body);
    }
    for _ in 0..5 {
        client.hang_up_after(100_000, "/runs/transcript/read", TOKEN, &json!({ "runId": "r" }));
    }
    let read = whole(client, "/runs/transcript/read", &json!({ "runId": "r" }));
    assert_eq!(read["attachments"].as_array().unwrap().len(), 8);
    assert!(!worker.log().contains("fault"), "{}", worker.log());
}
