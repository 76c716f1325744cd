//! Responses too large for a single piece arrive complete, in order and with their length.
//! docs/platform.md lists their memory use.

use ars_tests_workerd::{Client, TOKEN, state_worker};
use serde_json::{Value, json};

use crate::records::{STORE, call};

/// Large texts: plain characters only, and characters that need more bytes in JSON or JavaScript.
const LARGE: [(&str, usize); 3] = [
    ("A", 1_400_000),
    ("\"\n\u{1}", 200_000),
    ("é✓\u{1F600}", 120_000),
];

/// Returns a response's JSON, checking the declared length.
fn whole(client: &Client, path: &str, body: &Value) -> Value {
    let answer = client.post(path, TOKEN, body);
    assert_eq!(
        (answer.status, answer.content_type.as_str()),
        (200, "application/json"),
        "{path}"
    );
    assert_eq!(answer.declared, Some(answer.bytes), "{path}");
    answer.body
}

#[test]
fn multi_piece_transcript_is_read_unchanged() {
    let worker = state_worker();
    let client = &worker.client;
    call(
        client,
        "/runs/transcript/owner",
        json!({ "runId": "r", "gen": "g" }),
    );
    // Large rows between small rows, and many small rows that fill pieces together.
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
    for batch in rows[..3]
        .chunks(1)
        .chain(rows[3..3_003].chunks(500))
        .chain(rows[3_003..].chunks(1))
    {
        let body = json!({ "runId": "r", "gen": "g", "rows": batch, "attachments": [] });
        call(client, "/runs/transcript/write", body);
    }
    for attachment in &attachments {
        let body = json!({ "runId": "r", "gen": "g", "rows": [], "attachments": [attachment] });
        call(client, "/runs/transcript/write", body);
    }
    let read = whole(client, "/runs/transcript/read", &json!({ "runId": "r" }));
    assert!(
        read == json!({ "rows": rows, "attachments": attachments }),
        "as it was written"
    );
    // The object still works.
    assert!(whole(client, "/runs/transcript/read", &json!({ "runId": "r" })) == read);
}

#[test]
fn multi_piece_live_events_are_complete_and_ordered() {
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
        call(
            client,
            "/runs/append",
            json!({ "runId": "r", "gen": "g", "events": batch }),
        );
    }
    let read = whole(
        client,
        "/runs/live-events",
        &json!({ "storeKey": STORE, "runId": "r" }),
    );
    assert!(read == json!({ "events": events }), "as they were appended");
}

#[test]
fn multi_piece_ledger_is_ordered() {
    let worker = state_worker();
    let client = &worker.client;
    let diagnosis = json!({ "findings": [], "eventCount": 0, "verdict": "", "byCategory": {} });
    let records: Vec<_> = (0..60)
        .map(|n| json!({ "runId": format!("r{n}"), "finishedAt": n, "diagnosis": diagnosis, "label": "é".repeat(60_000) }))
        .collect();
    for record in records.iter().rev() {
        call(
            client,
            "/friction/record",
            json!({ "ledgerKey": "friction:acme/app", "record": record }),
        );
    }
    let read = whole(
        client,
        "/friction/recent",
        &json!({ "ledgerKey": "friction:acme/app" }),
    );
    assert!(
        read == json!({ "records": records }),
        "as they were recorded"
    );
}

#[test]
fn repeated_large_reads_have_bounded_memory() {
    let mut worker = state_worker();
    let client = &worker.client;
    call(
        client,
        "/runs/transcript/owner",
        json!({ "runId": "r", "gen": "g" }),
    );
    // The text has two bytes per character as a JavaScript string.
    let part = "a line of \"quoted\" text ✓\n".repeat(50_000);
    for idx in 0..24 {
        let rows = json!([{ "idx": idx, "part": 0, "json": part }]);
        call(
            client,
            "/runs/transcript/write",
            json!({ "runId": "r", "gen": "g", "rows": rows, "attachments": [] }),
        );
    }
    // Excludes memory used by the writes and the first request.
    worker.kill_and_restart();
    call(
        &worker.client,
        "/runs/transcript/read",
        json!({ "runId": "unknown" }),
    );
    let mut bytes = 0;
    let peak = worker.peak_of(|| {
        for _ in 0..4 {
            bytes = worker
                .client
                .post("/runs/transcript/read", TOKEN, &json!({ "runId": "r" }))
                .bytes;
        }
    });
    assert!(bytes > 33_000_000, "{bytes}");
    assert!(
        peak < 3 * bytes,
        "{peak} bytes of memory for {bytes} of an answer"
    );
}

#[test]
fn disconnected_reader_does_not_affect_others() {
    let worker = state_worker();
    let client = &worker.client;
    call(
        client,
        "/runs/transcript/owner",
        json!({ "runId": "r", "gen": "g" }),
    );
    let attachment = |n: u32| json!({ "ref": format!("a{n}"), "mediaType": "image/png", "data": "A".repeat(1_500_000) });
    for n in 0..8 {
        let body = json!({ "runId": "r", "gen": "g", "rows": [], "attachments": [attachment(n)] });
        call(client, "/runs/transcript/write", body);
    }
    for _ in 0..5 {
        client.hang_up_after(
            100_000,
            "/runs/transcript/read",
            TOKEN,
            &json!({ "runId": "r" }),
        );
    }
    let read = whole(client, "/runs/transcript/read", &json!({ "runId": "r" }));
    assert_eq!(read["attachments"].as_array().unwrap().len(), 8);
    assert!(!worker.log().contains("fault"), "{}", worker.log());
}
