//! Tests retries, and calls with several requests.

use ars_bot_ports::{Claim, Ledger, Owned, StoreError, StoreErrorKind, Stored};
use ars_types::StopMode;
use ars_wire::{
    Moment,
    ledger::{LEASE_MS, StepRecord},
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{ScriptedClient, generation, new_run, owner, scene};
use crate::suite::{record, run};

const OK: (u16, &str) = (200, r#"{"ok":true}"#);
const BUSY: (u16, &str) = (503, "{}");

/// Returns the outcome with retries, the attempt count, and the elapsed milliseconds.
async fn retried<T>(
    answers: &[(u16, &str)],
    call: impl AsyncFn(&ScriptedClient) -> Result<T, StoreError>,
) -> (Result<T, StoreErrorKind>, usize, u128) {
    let (client, transport) = scene(answers);
    let began = Instant::now();
    let result = call(&client).await;
    (
        result.map_err(|error| error.kind),
        transport.asked().len(),
        began.elapsed().as_millis(),
    )
}

#[tokio::test(start_paused = true)]
async fn claims_and_steps_are_retried() {
    use StoreErrorKind::Transient;
    let claim = async |ledger: &ScriptedClient| ledger.claim(&new_run()).await;
    assert_eq!(
        retried(&[BUSY, OK], claim).await,
        (Ok(Claim::Granted), 2, 200)
    );
    assert_eq!(
        retried(&[BUSY, BUSY, OK], claim).await,
        (Ok(Claim::Granted), 3, 1000)
    );
    assert_eq!(retried(&[], claim).await, (Err(Transient), 3, 1000));
    let step = async |ledger: &ScriptedClient| ledger.step(&owner(), &StepRecord::default()).await;
    assert_eq!(
        retried(&[BUSY, OK], step).await,
        (Ok(Owned::Done(())), 2, 200)
    );
    assert_eq!(
        retried(&[BUSY, BUSY, OK], step).await,
        (Err(Transient), 2, 200)
    );
    let state = async |ledger: &ScriptedClient| ledger.state(&owner(), &Map::new()).await;
    assert_eq!(
        retried(&[BUSY, OK], state).await,
        (Ok(Owned::Done(())), 2, 200)
    );
    assert_eq!(retried(&[], state).await, (Err(Transient), 2, 200));
}

#[tokio::test(start_paused = true)]
async fn conflicts_and_rejections_are_not_retried() {
    let step = async |ledger: &ScriptedClient| ledger.step(&owner(), &StepRecord::default()).await;
    let fenced = (409, r#"{"ok":false,"reason":"fenced"}"#);
    assert_eq!(
        retried(&[fenced, OK], step).await,
        (Ok(Owned::Fenced), 1, 0)
    );
    for (status, kind) in [
        (400, StoreErrorKind::Refused),
        (401, StoreErrorKind::Permanent),
        (404, StoreErrorKind::RouteMissing),
        (413, StoreErrorKind::Refused),
    ] {
        assert_eq!(
            retried(&[(status, "{}"), OK], step).await,
            (Err(kind), 1, 0)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn other_routes_are_not_retried() {
    let mut once = Vec::new();
    macro_rules! each {
        ($($call:expr),+ $(,)?) => {$(
            let (result, attempts, waited) = retried(&[], $call).await;
            once.push((result.map(drop), attempts, waited));
        )+};
    }
    let whole = record("r1", 5);
    each!(
        async |ledger: &ScriptedClient| ledger.live().await,
        async |ledger: &ScriptedClient| ledger.heartbeat(&owner(), LEASE_MS).await,
        async |ledger: &ScriptedClient| ledger.append(&owner(), &[]).await,
        async |ledger: &ScriptedClient| ledger.finishing(&owner()).await,
        async |ledger: &ScriptedClient| ledger.finish(&owner(), &whole).await,
        async |ledger: &ScriptedClient| ledger.stop(&run("r1"), StopMode::Soft, None).await,
        async |ledger: &ScriptedClient| ledger.inbox(&run("r1"), &Map::new()).await,
        async |ledger: &ScriptedClient| ledger.handoff(&generation(), &[]).await,
        async |ledger: &ScriptedClient| ledger.reclaim(&generation(), LEASE_MS, None, &[]).await,
        async |ledger: &ScriptedClient| ledger.live_events(&run("r1"), 0).await,
    );
    assert!(
        once.iter()
            .all(|outcome| *outcome == (Err(StoreErrorKind::Transient), 1, 0)),
        "{once:?}"
    );
}

#[tokio::test]
async fn finish_succeeds_without_clearing_the_transcript() {
    let (client, transport) = scene(&[(200, r#"{"ok":true,"stored":true}"#), BUSY]);
    let finished = client.finish(&owner(), &record("r1", 5)).await.unwrap();
    assert_eq!(finished, Owned::Done(Stored { stored: true }));
    assert_eq!(
        transport.asked(),
        ["/runs/finish", "/runs/transcript/clear"]
    );
    let (client, transport) = scene(&[(409, r#"{"ok":false,"reason":"fenced"}"#)]);
    assert_eq!(
        client.finish(&owner(), &record("r1", 5)).await.unwrap(),
        Owned::Fenced
    );
    assert_eq!(
        transport.asked(),
        ["/runs/finish"],
        "whose transcript it is now may need it"
    );
}

fn reclaimed(id: &str) -> Value {
    json!({
        "row": { "runId": id, "threadKey": id, "ownerGen": "g1", "leaseUntil": 9.5, "startedAt": 5, "phase": "live",
            "stop": null, "meta": {}, "card": null, "system": "", "tools": [], "state": {} },
        "reclaimedFrom": "handoff", "lastStep": null, "inbox": [], "jobs": [{ "kind": "reflect", "payload": [1] }],
    })
}

#[tokio::test]
async fn reclaim_is_one_request() {
    let runs = json!({ "runs": [reclaimed("r1"), reclaimed("r2")] }).to_string();
    let (client, transport) = scene(&[(200, &runs), BUSY, BUSY]);
    let taken = client
        .reclaim(&generation(), LEASE_MS, None, &[])
        .await
        .unwrap();
    let ids: Vec<_> = taken.iter().map(|run| run.row.run_id.as_str()).collect();
    assert_eq!(
        (ids, transport.asked()),
        (vec!["r1", "r2"], vec!["/runs/reclaim"])
    );
    assert_eq!(taken[0].row.lease_until, Moment::new(9.5).unwrap());
    assert_eq!(taken[0].jobs[0].kind, "reflect");
}
