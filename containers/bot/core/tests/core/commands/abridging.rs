//! Abridged reading diffs for finished reviews.

use std::sync::Arc;

use ars_auth::Set;
use ars_bot_core::{commands::Caller, settings::Settings};
use ars_runs::RunRecord;
use ars_types::RunId;
use serde_json::{Value, json};

use super::support::{Desk, desk_with, granted, none};
use crate::support::{MemoryHost, Move, with_host};

const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n+canary-value\n";

/// Creates a desk with the finished review `r1` on `acme/app#7`, and a model with these moves.
fn seeded(host: &Arc<MemoryHost>, moves: Vec<Move>) -> Desk {
    *host.diff.lock().unwrap() = Some(DIFF.to_owned());
    let restrictions = ars_auth::Restrictions {
        repos: ["acme/closed".to_owned()].into(),
        ..Default::default()
    };
    let desk = desk_with(moves, with_host(host), |settings| Settings {
        restrictions,
        ..settings
    });
    seed(&desk, "r1", "review", "acme/app", Some(7));
    desk
}

fn seed(desk: &Desk, run: &str, agent: &str, repo: &str, pr: Option<u64>) {
    desk.runs.seed(run, 1_000_000, |record| {
        record["agent"] = json!(agent);
        record["repo"] = json!(repo);
        let mut meta = json!({ "type": "run_meta", "agent": agent, "seq": 2, "at": 999_000 });
        if let Some(pr) = pr {
            meta["pr"] = json!(pr);
        }
        record["events"][1]["seq"] = json!(3);
        record["events"].as_array_mut().unwrap().insert(1, meta);
        (record["eventCount"], record["storedEventCount"]) = (json!(3), json!(3));
    });
}

fn operator() -> Caller {
    granted(&["review:write"], Set::All)
}

async fn abridge(desk: &Desk, body: Value) -> Value {
    desk.output(&operator(), "review.abridge", body).await
}

async fn record(desk: &Desk) -> RunRecord {
    desk.core
        .store()
        .get(&RunId::parse("r1").unwrap())
        .await
        .unwrap()
        .unwrap()
}

/// The artifact is appended to the record, fenced in the answer, and reused until it is forced.
#[tokio::test]
async fn artifact_is_stored_and_reused() {
    let host = Arc::new(MemoryHost::default());
    let desk = seeded(&host, vec![Move::Say("One line."), Move::Say("Again.")]);
    let made = abridge(&desk, json!({ "id": "r1", "wait": true })).await;
    assert_eq!(
        (&made["state"], &made["reused"]),
        (&json!("done"), &json!(false))
    );
    let artifact = &made["artifact"];
    assert!(
        artifact["summary"]
            .as_str()
            .unwrap()
            .contains("<untrusted-text>\nOne line."),
        "{made}"
    );
    assert_eq!(artifact["input"], format!("main...{}", "a".repeat(40)));
    assert_eq!(
        (&artifact["inputBytes"], &artifact["model"]),
        (&json!(DIFF.len()), &json!("scripted/m"))
    );
    let asked = format!("{:?}", desk.model.seen.lock().unwrap());
    assert!(
        asked.contains("untrusted-text") && !asked.contains("canary-value"),
        "{asked}"
    );

    let stored = record(&desk).await;
    let event = stored.events.last().unwrap();
    assert_eq!(
        (&event["type"], &event["poweredBy"]),
        (&json!("review_artifact"), &json!("meat"))
    );
    assert_eq!(
        (&event["summary"], &event["seq"], &event["baseRef"]),
        (&json!("One line."), &json!(4), &json!("main"))
    );
    assert_eq!(
        (
            stored.event_count,
            stored.stored_event_count,
            stored.truncated
        ),
        (4, 4, false)
    );

    let reused = abridge(&desk, json!({ "id": "r1" })).await;
    assert_eq!(
        (&reused["reused"], &reused["artifact"]),
        (&json!(true), artifact)
    );
    let forced = abridge(&desk, json!({ "id": "r1", "force": true, "wait": true })).await;
    assert!(
        forced["artifact"]["summary"]
            .as_str()
            .unwrap()
            .contains("Again."),
        "{forced}"
    );
    assert_eq!(record(&desk).await.event_count, 5);
    assert!(
        abridge(&desk, json!({ "id": "r1" })).await["artifact"]["summary"]
            .as_str()
            .unwrap()
            .contains("Again.")
    );
}

/// Two calls at once share a job, with `force` as well.
#[tokio::test]
async fn concurrent_calls_share_one_job() {
    let host = Arc::new(MemoryHost::default());
    let desk = seeded(&host, vec![Move::SayWhenReleased("One.")]);
    let first = abridge(&desk, json!({ "id": "r1" })).await;
    assert_eq!(first["state"], "running");
    let second = abridge(&desk, json!({ "id": "r1", "force": true })).await;
    assert_eq!(second["startedAt"], first["startedAt"]);
    desk.model.release.notify_one();
    let waited = abridge(&desk, json!({ "id": "r1", "wait": true })).await;
    assert_eq!(waited["state"], "done", "{waited}");
    assert_eq!(desk.model.asked.lock().unwrap().len(), 1);
    assert_eq!(record(&desk).await.event_count, 4);
}

#[tokio::test]
async fn failed_job_is_reported_and_tried_again() {
    let host = Arc::new(MemoryHost::default());
    let desk = seeded(&host, vec![Move::Say("Now.")]);
    *host.diff.lock().unwrap() = None;
    let failed = abridge(&desk, json!({ "id": "r1", "wait": true })).await;
    assert_eq!(
        (&failed["state"], &failed["reason"]),
        (
            &json!("failed"),
            &json!("the code host could not be reached")
        )
    );
    assert_eq!(record(&desk).await.event_count, 3);
    *host.diff.lock().unwrap() = Some(DIFF.to_owned());
    assert_eq!(
        abridge(&desk, json!({ "id": "r1", "wait": true })).await["state"],
        "done"
    );
}

#[tokio::test]
async fn other_runs_and_closed_repositories_are_refused() {
    let host = Arc::new(MemoryHost::default());
    let desk = seeded(&host, Vec::new());
    seed(&desk, "r2", "coding", "acme/app", Some(7));
    seed(&desk, "r3", "review", "acme/app", None);
    seed(&desk, "r4", "review", "acme/closed", Some(7));
    for (run, code) in [
        ("r2", "conflict"),
        ("r3", "not_found"),
        ("r4", "unauthorized"),
        ("r9", "not_found"),
    ] {
        assert_eq!(
            desk.failure(&operator(), "review.abridge", json!({ "id": run }))
                .await
                .0,
            code,
            "{run}"
        );
    }
    assert!(desk.model.asked.lock().unwrap().is_empty());
    let off = desk_with(Vec::new(), with_host(&host), |settings| Settings {
        reading_diff: ars_codehost::review::ReadingDiffSettings::default()
            .with_override(Some("off")),
        ..settings
    });
    let (code, text) = off.failure(&operator(), "review.abridge", none()).await;
    assert!(
        code == "not_found" && text.contains("review.readingDiff.provider"),
        "{text}"
    );
}
