//! Run outcomes, from record facts.

use std::sync::Arc;

use ars_auth::Set;
use ars_codehost::{review::PullRequestState, webhook::EndedPullRequest};
use ars_types::{RepoSlug, RunId};
use serde_json::{Value, json};

use super::support::{Desk, desk, desk_with, granted};
use crate::support::{MemoryHost, with_host};

fn opened(desk: &Desk, run: &str, number: u64, cost: u64) {
    desk.runs.seed(run, 1_000_000, |record| {
        record["costMicroUsd"] = json!(cost);
        record["pullRequest"] =
            json!({ "repo": "acme/app", "number": number, "created": true, "at": 990_000, "state": "open" });
    });
}

async fn ended(desk: &Desk, run: &str, number: u64, is_merged: bool) {
    let (run, repository) = (
        RunId::parse(run).unwrap(),
        RepoSlug::parse("acme/app").unwrap(),
    );
    // 60 seconds behind the opening.
    let ended_at = Some("1970-01-01T00:17:30Z".to_owned());
    let ended = EndedPullRequest {
        run,
        repository,
        number,
        is_merged,
        ended_at,
    };
    desk.core.record_pull_request_end(&ended).await.unwrap();
}

async fn outcomes(desk: &Desk, body: Value) -> Value {
    desk.output(&granted(&["runs:read"], Set::All), "runs.outcomes", body)
        .await
}

/// A pull request's end is a fact on the run that opened it, and on no other run.
#[tokio::test]
async fn ends_of_pull_requests_are_counted() {
    let desk = desk();
    for (run, number, cost) in [("r1", 1, 10), ("r2", 2, 30), ("r3", 3, 5), ("r4", 4, 5)] {
        opened(&desk, run, number, cost);
    }
    desk.runs.seed("r5", 1_000_000, |record| {
        record["agent"] = json!("review");
        record["postedReview"] = json!({ "repo": "acme/app", "number": 1, "at": 1, "resolved": 2 });
    });
    ended(&desk, "r1", 1, true).await;
    ended(&desk, "r2", 2, true).await;
    ended(&desk, "r3", 3, false).await;
    // A fork's branch may have the same name as the run's branch, and an event may be late.
    ended(&desk, "r4", 9, true).await;
    ended(&desk, "r1", 1, false).await;
    ended(&desk, "unknown", 1, true).await;

    let found = outcomes(&desk, json!({})).await;
    assert_eq!(
        (&found["runsRead"], &found["truncated"]),
        (&json!(5), &json!(false))
    );
    let coding = &found["outcomes"][0];
    let counts =
        ["Opened", "Merged", "Closed"].map(|name| coding[format!("pullRequests{name}")].as_u64());
    assert_eq!(
        (counts, &coding["costPerMergedMicroUsd"]),
        ([Some(4), Some(2), Some(1)], &json!(20))
    );
    assert_eq!(
        coding["timeToMergeMs"], 60_000,
        "the host's time counts, and not that of the event"
    );
    let review = &found["outcomes"][1];
    assert_eq!(
        (&review["agent"], &review["reviewsPosted"]),
        (&json!("review"), &json!(1))
    );
    assert_eq!(review["findingsResolved"], 2);
    assert_eq!(
        outcomes(&desk, json!({ "agent": "review" })).await["outcomes"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        outcomes(&desk, json!({ "repo": "acme/other" })).await["outcomes"],
        json!([])
    );
}

/// Without webhooks the host's answers are the facts, with the host's times.
#[tokio::test]
async fn ends_are_asked_for_without_webhooks() {
    let host = Arc::<MemoryHost>::default();
    let desk = desk_with(Vec::new(), with_host(&host), |settings| settings);
    for (run, number) in [("r1", 1), ("r2", 2), ("r3", 3)] {
        opened(&desk, run, number, 10);
    }
    *host.diff.lock().unwrap() = Some(String::new());
    host.ended
        .lock()
        .unwrap()
        .insert(1, (PullRequestState::Merged, 1_050_000));
    host.ended
        .lock()
        .unwrap()
        .insert(2, (PullRequestState::Closed, 1_050_000));
    let mut follower = desk.core.pull_request_follower().unwrap();
    follower.ask().await;
    let found = outcomes(&desk, json!({})).await;
    let coding = &found["outcomes"][0];
    let counts =
        ["Opened", "Merged", "Closed"].map(|name| coding[format!("pullRequests{name}")].as_u64());
    assert_eq!(
        (counts, &coding["timeToMergeMs"]),
        ([Some(3), Some(1), Some(1)], &json!(60_000))
    );
    host.read.lock().unwrap().clear();
    follower.ask().await;
    let mut read = std::mem::take(&mut *host.read.lock().unwrap());
    read.sort_unstable();
    assert_eq!(
        read,
        [2, 3],
        "a merge is final, and a closed one may be opened again"
    );
    host.ended.lock().unwrap().remove(&2);
    follower.ask().await;
    let coding = &outcomes(&desk, json!({})).await["outcomes"][0];
    let counts =
        ["Opened", "Merged", "Closed"].map(|name| coding[format!("pullRequests{name}")].as_u64());
    assert_eq!(counts, [Some(3), Some(1), Some(0)], "it is open again");
}

/// A repository that cannot be read does not keep others from their turn.
#[tokio::test]
async fn failing_repository_is_passed() {
    let host = Arc::<MemoryHost>::default();
    let desk = desk_with(Vec::new(), with_host(&host), |settings| settings);
    for (run, number) in [("r1", 1), ("r2", 2), ("r3", 3)] {
        opened(&desk, run, number, 10);
    }
    desk.runs.seed("r4", 1_000_090, |record| {
        record["pullRequest"] = json!({
            "repo": "acme/other", "number": 4, "created": true, "at": 1_000_000, "state": "open",
        });
    });
    // Without a diff only ended pull requests can be read.
    host.ended
        .lock()
        .unwrap()
        .insert(4, (PullRequestState::Merged, 1_050_000));
    let mut follower = desk.core.pull_request_follower().unwrap();
    follower.ask().await;
    let read = std::mem::take(&mut *host.read.lock().unwrap());
    assert_eq!((read.len(), read.contains(&4)), (2, true), "{read:?}");
}

/// Each pass asks about some of them, and the next pass goes on behind these.
#[tokio::test]
async fn open_pull_requests_get_their_turn() {
    let host = Arc::<MemoryHost>::default();
    let desk = desk_with(Vec::new(), with_host(&host), |settings| settings);
    for number in 1..=60 {
        opened(&desk, &format!("r{number}"), number, 10);
    }
    let mut follower = desk.core.pull_request_follower().unwrap();
    follower.ask().await;
    assert_eq!(
        host.read.lock().unwrap().len(),
        1,
        "a host that is down is asked once"
    );
    *host.diff.lock().unwrap() = Some(String::new());
    host.read.lock().unwrap().clear();
    follower.ask().await;
    assert_eq!(host.read.lock().unwrap().len(), 50);
    follower.ask().await;
    let mut read = host.read.lock().unwrap().clone();
    assert_eq!(read.len(), 100);
    read.sort_unstable();
    read.dedup();
    assert_eq!(read, (1..=60).collect::<Vec<u64>>());
}
