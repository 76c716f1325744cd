//! Kills the runtime at random under parallel writers: what was acknowledged is there afterwards, and nothing is
//! there by half (document 2 section 4.3; the ledger's promises of state-worker supplement section 9).
//!
//! The moment of each kill is drawn from a seed that a failure names.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ars_tests_workerd::{Client, Running, TOKEN, state_worker};
use serde_json::{Value, json};

use crate::records::{STORE, call, now, record};

/// Kills.
const ROUNDS: u64 = 20;
/// Writers of each kind at once.
const WRITERS: usize = 2;
/// Most acknowledgements that a round waits for before its kill.
const MOST_BEFORE_KILL: u64 = 120;
/// Events of a record and of a batch.
const EVENTS: u64 = 32;
/// The generation that owns every live run until the end.
const GENERATION: &str = "gen-writing";

/// What a writer was told is kept.
#[derive(Default)]
struct Acknowledged {
    /// Finished runs, all of them of [`EVENTS`] events.
    records: Vec<String>,
    /// Live runs, with how many batches of events, and how many steps with their transcript, were acknowledged.
    live: BTreeMap<String, (u64, u64)>,
}

#[test]
fn twenty_kills_under_parallel_writers_lose_nothing_that_was_acknowledged_and_leave_nothing_by_half() {
    let mut worker = state_worker();
    let mut kept = Acknowledged::default();
    for round in 0..ROUNDS {
        let until = 1 + scramble(round) % MOST_BEFORE_KILL;
        eprintln!("round {round}: killed after {until} acknowledgements");
        let told = write_until_killed(round, until, &mut worker);
        kept.records.extend(told.records);
        kept.live.extend(told.live);
        worker.restart();
        check(&worker.client, &kept);
    }
    assert!(kept.records.len() + kept.live.len() > 100, "too little was written to mean anything");
    check_ledger(&worker.client, &kept);
}

/// The splitmix64 step: any two rounds differ in all their bits.
fn scramble(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 31)
}

fn write_until_killed(round: u64, until: u64, worker: &mut Running) -> Acknowledged {
    let count = AtomicUsize::new(0);
    let client = worker.client.clone();
    thread::scope(|scope| {
        let mut putting = Vec::new();
        let mut living = Vec::new();
        for writer in 0..WRITERS {
            let (client, count) = (&client, &count);
            let (records, runs) = (format!("r{round}-put-{writer}"), format!("r{round}-live-{writer}"));
            putting.push(scope.spawn(move || put_records(client, &records, count)));
            living.push(scope.spawn(move || keep_alive(client, &runs, count)));
        }
        while (count.load(Ordering::SeqCst) as u64) < until {
            thread::yield_now();
        }
        worker.kill();
        let mut told = Acknowledged::default();
        for writer in putting {
            told.records.extend(writer.join().unwrap());
        }
        for writer in living {
            told.live.extend(writer.join().unwrap());
        }
        told
    })
}

/// Puts one record after the other until the Worker is gone.
fn put_records(client: &Client, name: &str, count: &AtomicUsize) -> Vec<String> {
    let mut records = Vec::new();
    while let Some(answer) = {
        let id = format!("{name}-{}", records.len());
        try_call(client, "/runs/put", &json!({ "record": record(&id, now(), EVENTS) })).map(|_| id)
    } {
        records.push(answer);
        count.fetch_add(1, Ordering::SeqCst);
    }
    records
}

/// Lives as a bot's run does: appends a batch, writes the transcript of a step, then the step.
fn keep_alive(client: &Client, run: &str, count: &AtomicUsize) -> Option<(String, (u64, u64))> {
    try_call(
        client,
        "/runs/claim",
        &json!({ "run": {
            "runId": run, "threadKey": run, "gen": GENERATION, "leaseMs": 1000, "startedAt": now(), "meta": {},
            "system": "be brief", "tools": [],
        }}),
    )?;
    try_call(client, "/runs/transcript/owner", &json!({ "runId": run, "gen": GENERATION }))?;
    let (mut batches, mut steps) = (0, 0);
    loop {
        let owned = |more: Value| {
            let mut body = json!({ "runId": run, "gen": GENERATION });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let events: Vec<_> = (1..=EVENTS)
            .map(|n| json!({ "seq": batches * EVENTS + n, "type": "text", "text": "a line ✓" }))
            .collect();
        let rows: Vec<_> =
            [0, 1].iter().map(|part| json!({ "idx": steps, "part": part, "json": "{}" })).collect();
        let step = json!({
            "step": steps, "seq": batches * EVENTS, "turnIndex": steps, "inboxConsumedSeq": 0,
            "remainingMs": 1000, "turn": steps, "iteration": steps, "inFlight": [],
        });
        let told = Some((run.to_owned(), (batches, steps)));
        if try_call(client, "/runs/append", &owned(json!({ "events": events }))).is_none() {
            return told;
        }
        batches += 1;
        count.fetch_add(1, Ordering::SeqCst);
        let told = Some((run.to_owned(), (batches, steps)));
        let transcript = owned(json!({ "rows": rows, "attachments": [] }));
        if try_call(client, "/runs/transcript/write", &transcript).is_none()
            || try_call(client, "/runs/step", &owned(json!({ "record": step }))).is_none()
        {
            return told;
        }
        steps += 1;
        count.fetch_add(1, Ordering::SeqCst);
    }
}

/// The answer of a success; nothing once the Worker is gone. Any other answer ends the test.
fn try_call(client: &Client, path: &str, body: &Value) -> Option<Value> {
    let mut body = body.clone();
    body["storeKey"] = json!(STORE);
    let bearer = format!("Bearer {TOKEN}");
    let bytes = body.to_string();
    let answer = client.try_send("POST", path, &[("authorization", &bearer)], bytes.as_bytes()).ok()?;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    Some(answer.body)
}

/// Every acknowledged write is there, and no write is there by half.
fn check(client: &Client, kept: &Acknowledged) {
    for id in &kept.records {
        let read = call(client, "/runs/get", json!({ "id": id }));
        let events = read["record"]["events"].as_array().map(Vec::len);
        assert_eq!(events, Some(EVENTS as usize), "{id} was acknowledged and is lost or torn");
    }
    for (run, (batches, steps)) in &kept.live {
        let read = call(client, "/runs/live-events", json!({ "runId": run }));
        let seqs: Vec<_> =
            read["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        let all: Vec<_> = (1..=seqs.len() as u64).collect();
        assert_eq!(seqs, all, "{run}: each event once, in order");
        // The batch that was under way at the kill may be there too, whole.
        let whole = seqs.len() as u64 / EVENTS;
        assert!(
            (seqs.len() as u64).is_multiple_of(EVENTS) && (*batches..=batches + 1).contains(&whole),
            "{run}: {whole}"
        );

        let read = call(client, "/runs/transcript/read", json!({ "runId": run }));
        let rows = read["rows"].as_array().unwrap();
        assert!(
            rows.len().is_multiple_of(2) && rows.len() as u64 / 2 >= *steps,
            "{run}: half a transcript write"
        );
    }
}

/// The ledger still knows every run, with its last step: another generation takes all of them.
fn check_ledger(client: &Client, kept: &Acknowledged) {
    let taken = call(
        client,
        "/runs/reclaim",
        json!({ "gen": "gen-next", "leaseMs": 1000, "now": now() + 3_600_000 }),
    );
    let taken: BTreeMap<_, _> = taken["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|taken| (taken["row"]["runId"].as_str().unwrap(), taken))
        .collect();
    for (run, (_, steps)) in &kept.live {
        let taken = taken.get(run.as_str()).unwrap_or_else(|| panic!("{run} was claimed and is lost"));
        let last = taken["lastStep"]["step"].as_u64();
        assert!(*steps == 0 || last >= Some(steps - 1), "{run}: {last:?} of {steps}");
    }
}
