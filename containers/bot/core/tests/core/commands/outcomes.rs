//! Outcomes of runs, from the facts of their records.

use ars_auth::Set;
use ars_codehost::webhook::EndedPullRequest;
use ars_types::{RepoSlug, RunId};
use serde_json::{Value, json};

use super::support::{Desk, desk, granted};

fn opened(desk: &Desk, run: &str, number: u64, cost: u64) {
    desk.runs.seed(run, 1_000_000, |record| {
        record["costMicroUsd"] = json!(cost);
        record["pullRequest"] =
            json!({ "repo": "acme/app", "number": number, "created": true, "at": 990_000, "state": "open" });
    });
}

async fn ended(desk: &Desk, run: &str, number: u64, is_merged: bool) {
    let (run, repository) = (RunId::parse(run).unwrap(), RepoSlug::parse("acme/app").unwrap());
    let ended = EndedPullRequest { run, repository, number, is_merged };
    desk.core.record_pull_request_end(&ended).await.unwrap();
}

async fn outcomes(desk: &Desk, body: Value) -> Value {
    desk.output(&granted(&["runs:read"], Set::All), "runs.outcomes", body).await
}

/// The end of a pull request is a fact of the run that opened it, and no other run's.
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
    // A branch of a fork may have the name of the run's branch, and an event may be late.
    ended(&desk, "r4", 9, true).await;
    ended(&desk, "r1", 1, false).await;
    ended(&desk, "unknown", 1, true).await;

    let found = outcomes(&desk, json!({})).await;
    assert_eq!((&found["runsRead"], &found["truncated"]), (&json!(5), &json!(false)));
    let coding = &found["outcomes"][0];
    let counts = ["Opened", "Merged", "Closed"].map(|name| coding[format!("pullRequests{name}")].as_u64());
    assert_eq!((counts, &coding["costPerMergedMicroUsd"]), ([Some(4), Some(2), Some(1)], &json!(20)));
    assert!(coding["timeToMergeMs"].as_i64().unwrap() >= 0, "{coding}");
    let review = &found["outcomes"][1];
    assert_eq!((&review["agent"], &review["reviewsPosted"]), (&json!("review"), &json!(1)));
    assert_eq!(review["findingsResolved"], 2);
    assert_eq!(outcomes(&desk, json!({ "agent": "review" })).await["outcomes"].as_array().unwrap().len(), 1);
    assert_eq!(outcomes(&desk, json!({ "repo": "acme/other" })).await["outcomes"], json!([]));
}
