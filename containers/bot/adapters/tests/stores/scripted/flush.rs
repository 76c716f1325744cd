//! Tests the flush: requests and responses.

use ars_bot_ports::{FlushBatch, FlushResponse, Ledger as _, Owned, StoreErrorKind};
use ars_wire::ledger::LEASE_MS;
use serde_json::{json, value::RawValue};

use super::{generation, scene};
use crate::suite::run;

fn news(id: &str, events: &[&str]) -> FlushBatch {
    let raw = |event: &&str| RawValue::from_string((*event).to_owned()).unwrap();
    FlushBatch {
        run: run(id),
        events: events.iter().map(raw).collect(),
        inbox_after: 7,
    }
}

#[tokio::test]
async fn one_request_carries_every_run() {
    let answer = r#"{"runs":[{"runId":"a","ok":true,"stop":null,"phase":"live","inbox":[]},
        {"runId":"b","ok":false,"reason":"fenced"}]}"#;
    let (client, transport) = scene(&[(200, answer), (200, answer)]);
    let runs = [news("a", &[r#"{"seq":1}"#, r#"{"seq":2}"#]), news("b", &[])];
    for lease_ms in [None, Some(LEASE_MS)] {
        let told = client.flush(&generation(), lease_ms, &runs).await.unwrap();
        assert_eq!(told, [Owned::Done(FlushResponse::default()), Owned::Fenced]);
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
async fn outage_is_transient() {
    let (client, transport) = scene(&[(503, "{}"), (200, r#"{"runs":[]}"#)]);
    let error = client
        .flush(&generation(), None, &[news("a", &[])])
        .await
        .unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Transient);
    assert_eq!(client.flush(&generation(), None, &[]).await.unwrap(), []);
    assert_eq!(transport.asked(), ["/runs/flush", "/runs/flush"]);
}
