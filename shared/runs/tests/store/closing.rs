//! Closing records for reclaimed runs, checked by the store's validator.

use ars_runs::{COST, ClosedRun, RESERVED_COST, RunRecord, closing_record};
use ars_types::RunStatus;
use ars_wire::ledger::Reclaimed;
use serde_json::{Value, json};

use crate::support::{NOW, store, with};

const RECLAIMED: ClosedRun = ClosedRun {
    status: RunStatus::Interrupted,
    finished_at: NOW,
    cost: None,
    reserved: None,
};

fn reclaimed(meta: Value) -> Reclaimed {
    serde_json::from_value(json!({
        "row": { "runId": "r1", "threadKey": "http:t1", "ownerGen": "g2", "leaseUntil": NOW, "startedAt": NOW as f64 - 4999.6,
            "phase": "live", "stop": null, "meta": meta, "card": null, "system": "s", "tools": [], "state": {} },
        "reclaimedFrom": "live",
        "lastStep": { "step": 4, "seq": 9, "turnIndex": 8, "inFlight": [], "inboxConsumedSeq": 0, "remainingMs": 1,
            "turn": 3, "iteration": 4 },
        "inbox": [], "jobs": [],
    }))
    .unwrap()
}

fn events(seqs: &[u64]) -> Vec<Value> {
    seqs.iter()
        .map(|seq| json!({ "type": "input", "text": "hm", "seq": seq, "at": NOW - 4000 }))
        .collect()
}

/// Stores a closing record and reads it back.
fn stored(run: &Reclaimed, events: Vec<Value>, closing: ClosedRun) -> RunRecord {
    let record = closing_record(run, events, closing);
    let store = store();
    assert_eq!(
        store.put(serde_json::to_value(&record).unwrap())["stored"],
        true
    );
    let read = RunRecord::from_stored(store.get(record.id.as_str())).unwrap();
    assert_eq!(read, record);
    read
}

#[test]
fn closing_record_has_requester_and_known_facts() {
    let meta = json!({ "agent": "coding", "model": "p/m", "channelId": "http:c", "userId": "http:u", "threadKey": "old",
        "channelVisibility": "machine", "repo": "acme/app", "sourceUrl": "https://x", "userName": "U", "effort": "high",
        "label": "fix it", "receivedAt": NOW - 6000 });
    let record = stored(&reclaimed(meta), events(&[1, 2, 3]), RECLAIMED);
    let stored = serde_json::to_value(&record).unwrap();
    let expected = json!({
        "id": "r1", "label": "fix it", "agent": "coding", "model": "p/m", "channelId": "http:c", "userId": "http:u",
        "threadKey": "http:t1", "channelVisibility": "machine", "repo": "acme/app", "startedAt": NOW - 5000,
        "finishedAt": NOW, "receivedAt": NOW - 6000, "stepCount": 4, "schema": 2, "status": "interrupted",
        "eventCount": 3, "storedEventCount": 3, "truncated": false, "events": events(&[1, 2, 3]),
        "diagnosis": stored["diagnosis"], "sourceUrl": "https://x", "userName": "U",
    });
    assert_eq!(stored, expected);
    assert_eq!(stored["diagnosis"]["eventCount"], 3);
}

#[test]
fn any_row_gives_an_accepted_record() {
    let broken = json!({ "agent": 1, "model": null, "channelId": [], "channelVisibility": "open", "repo": {},
        "receivedAt": "soon", "userName": null });
    for meta in [json!({}), broken] {
        let mut run = reclaimed(meta);
        run.last_step = None;
        let untyped = vec![json!({ "seq": 1 }), json!(null)];
        let closing = ClosedRun {
            status: RunStatus::Completed,
            finished_at: 0,
            ..RECLAIMED
        };
        let record = stored(&run, untyped, closing);
        assert_eq!(
            (
                record.channel_id.as_str(),
                record.step_count,
                record.received_at
            ),
            ("", None, None)
        );
        assert_eq!(record.channel_visibility.as_str(), "unknown");
        // The clock went backwards. The run does not end before it started.
        assert_eq!(record.finished_at, record.started_at);
        assert_eq!(
            (
                record.event_count,
                record.stored_event_count,
                record.truncated
            ),
            (1, 0, true)
        );
    }
}

#[test]
fn event_count_includes_missing_events() {
    let record = stored(&reclaimed(json!({})), events(&[2, 3, 7]), RECLAIMED);
    assert_eq!(
        (
            record.event_count,
            record.stored_event_count,
            record.truncated
        ),
        (7, 3, true)
    );
    let none = stored(&reclaimed(json!({})), vec![], RECLAIMED);
    assert_eq!((none.event_count, none.truncated), (0, false));
}

#[test]
fn closing_record_fits_the_byte_budget() {
    let long = |seq: u64| {
        with(
            events(&[seq]).remove(0),
            json!({ "text": "x".repeat(60_000) }),
        )
    };
    let record = stored(
        &reclaimed(json!({})),
        (1..=40).map(long).collect(),
        RECLAIMED,
    );
    assert!(record.truncated && record.stored_event_count < 40 && record.event_count == 40);
}

#[test]
fn closing_record_has_the_cost() {
    let cost_of = |cost| {
        stored(
            &reclaimed(json!({})),
            vec![],
            ClosedRun { cost, ..RECLAIMED },
        )
        .extra
        .get(COST)
        .cloned()
    };
    assert_eq!(
        (cost_of(Some(4_500)), cost_of(Some(0)), cost_of(None)),
        (Some(json!(4_500)), Some(json!(0)), None)
    );
}

#[test]
fn closing_record_has_reservation_and_cost() {
    let closing = ClosedRun {
        cost: Some(4_500),
        reserved: Some(9_000),
        ..RECLAIMED
    };
    let extra = stored(&reclaimed(json!({})), vec![], closing).extra;
    assert_eq!(
        (&extra[COST], &extra[RESERVED_COST]),
        (&json!(4_500), &json!(9_000))
    );
}
