//! Tests the flush: responses, and requests to a state Worker without the route.

use ars_bot_ports::{FlushAnswer, FlushBatch, Ledger as _, Owned, StoreErrorKind};
use ars_types::StopMode;
use ars_wire::ledger::LEASE_MS;
use serde_json::{json, value::RawValue};

use super::{generation, scene};
use crate::suite::run;

const NOT_FOUND: (u16, &str) = (404, r#"{"error":"not found"}"#);
const FENCED: (u16, &str) = (409, r#"{"ok":false,"reason":"fenced"}"#);
const OK: (u16, &str) = (200, r#"{"ok":true}"#);
const BEAT: (u16, &str) = (200, r#"{"ok":true,"stop":"soft","phase":"live"}"#);

fn news(id: &str, events: &[&str]) -> FlushBatch {
    let raw = |event: &&str| RawValue::from_string((*event).to_owned()).unwrap();
    FlushBatch {
        run: run(id),
        events: events.iter().map(raw).collect(),
        inbox_after: 7,
    }
}

fn stopped() -> Owned<FlushAnswer> {
    Owned::Done(FlushAnswer {
        stop: Some(StopMode::Soft),
        ..FlushAnswer::default()
    })
}

#[tokio::test]
async fn one_request_carries_every_run() {
    let answer = r#"{"runs":[{"runId":"a","ok":true,"stop":null,"phase":"live","inbox":[]},
        {"runId":"b","ok":false,"reason":"fenced"}]}"#;
    let (client, transport) = scene(&[(200, answer), (200, answer)]);
    let runs = [news("a", &[r#"{"seq":1}"#, r#"{"seq":2}"#]), news("b", &[])];
    for lease_ms in [None, Some(LEASE_MS)] {
        let told = client.flush(&generation(), lease_ms, &runs).await.unwrap();
        assert_eq!(told, [Owned::Done(FlushAnswer::default()), Owned::Fenced]);
    }
    let mut body = json!({ "storeKey": "runs:default", "gen": "g1", "runs": [
        { "runId": "a", "events": [{ "seq": 1 }, { "seq": 2 }], "inboxAfter": 7 },
        { "runId": "b", "events": [], "inboxAfter": 7 },
    ] });
    let without_lease = body.clone();
    body["leaseMs"] = json!(30_000);
    assert_eq!(*transport.bodies.lock().unwrap(), [without_lease, body]);
    assert_eq!(transport.asked(), ["/runs/flush", "/runs/flush"]);
}

#[tokio::test]
async fn answer_for_other_runs_is_malformed() {
    let done = r#"{"runId":"a","ok":true,"stop":null,"phase":"live","inbox":[]}"#;
    for runs in [
        String::new(),
        format!("{done},{done}"),
        done.replace(r#""a""#, r#""b""#),
        done.replace("true", "false"),
        done.replace(r#""stop":null,"#, ""),
        done.replace(r#","inbox":[]"#, ""),
        done.replace("live", "of a later age"),
        r#"{"runId":"a","ok":true,"reason":"fenced"}"#.to_owned(),
        r#"{"runId":"a","ok":false,"reason":"of a later age"}"#.to_owned(),
        r#"{"runId":"a","ok":false,"reason":"thread-live","live":{"runId":"r","startedAt":5}}"#
            .to_owned(),
        r#"{"runId":"a","ok":false}"#.to_owned(),
    ] {
        let (client, _) = scene(&[(200, &format!(r#"{{"runs":[{runs}]}}"#))]);
        let error = client
            .flush(&generation(), None, &[news("a", &[])])
            .await
            .unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{runs}");
        assert!(
            error.message.starts_with("malformed answer"),
            "{runs}: {error}"
        );
    }
}

#[tokio::test]
async fn older_worker_is_flushed_run_by_run() {
    let (client, transport) = scene(&[NOT_FOUND, OK, BEAT, OK, BEAT]);
    let runs = [news("a", &[r#"{"seq":1}"#])];
    for _ in 0..2 {
        let told = client
            .flush(&generation(), Some(LEASE_MS), &runs)
            .await
            .unwrap();
        assert_eq!(told, [stopped()]);
    }
    let by_itself = ["/runs/append", "/runs/heartbeat"];
    assert_eq!(
        transport.asked(),
        [&["/runs/flush"][..], &by_itself, &by_itself].concat()
    );
    assert!(client.is_degraded());
}

#[tokio::test]
async fn run_by_run_flush_skips_empty_and_lost_runs() {
    let (client, transport) = scene(&[NOT_FOUND, FENCED, BEAT]);
    let told = client
        .flush(&generation(), None, &[news("a", &[])])
        .await
        .unwrap();
    assert_eq!(told, [Owned::Done(FlushAnswer::default())]);
    assert_eq!(transport.asked(), ["/runs/flush"]);
    let runs = [news("a", &[r#"{"seq":1}"#]), news("b", &[])];
    let told = client
        .flush(&generation(), Some(LEASE_MS), &runs)
        .await
        .unwrap();
    assert_eq!(told, [Owned::Fenced, stopped()]);
    assert_eq!(transport.asked(), ["/runs/append", "/runs/heartbeat"]);
}

#[tokio::test]
async fn an_outage_is_no_missing_route() {
    let (client, transport) = scene(&[(503, "{}"), (200, r#"{"runs":[]}"#)]);
    let error = client
        .flush(&generation(), None, &[news("a", &[])])
        .await
        .unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Transient);
    assert_eq!(client.flush(&generation(), None, &[]).await.unwrap(), []);
    assert_eq!(transport.asked(), ["/runs/flush", "/runs/flush"]);
}
