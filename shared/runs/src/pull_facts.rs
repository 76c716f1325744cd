//! A run's facts about pull requests, as its record stores them beside the events.
//!
//! Lists have no events, so totals over many runs read these fields.

use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RunRecord;

/// Additional record field: the pull request that the run opened or edited.
pub const PULL_REQUEST: &str = "pullRequest";
/// Additional record field: the review that the run posted.
pub const POSTED_REVIEW: &str = "postedReview";

/// A run's pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullRequestFact {
    /// Repository as `owner/name`.
    pub repo: String,
    /// Number within the repository.
    pub number: u64,
    /// The run opened it. Otherwise it edited it.
    pub created: bool,
    /// When the run opened or edited it.
    pub at: UnixMillis,
    /// The last state that is known.
    #[serde(default)]
    pub state: PullRequestState,
    /// When it was merged or closed, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<UnixMillis>,
}

/// A pull request's last known state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullRequestState {
    /// It is open, or its end is not known.
    #[default]
    Open,
    /// It has been merged.
    Merged,
    /// It was closed without a merge.
    Closed,
}

/// A run's review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostedReviewFact {
    /// Repository as `owner/name`.
    pub repo: String,
    /// The pull request's number.
    pub number: u64,
    /// When it was posted.
    pub at: UnixMillis,
    /// Own threads that the run resolved, because their fix was verified.
    #[serde(default)]
    pub resolved: u64,
}

/// Adds the fact about the pull request from the record's events, if they have any (`pr_opened`).
pub fn add_pull_request(record: &mut RunRecord) {
    let opened = record
        .events
        .iter()
        .rev()
        .find(|event| event["type"] == "pr_opened");
    let fact = opened.and_then(|event| {
        let (repo, number) = place(event["url"].as_str()?)?;
        let created = event["created"].as_bool().unwrap_or(true);
        let at = event["at"].as_i64().unwrap_or(record.finished_at);
        Some(PullRequestFact {
            repo,
            number,
            created,
            at,
            state: PullRequestState::Open,
            ended_at: None,
        })
    });
    if let Some(fact) = fact.and_then(|fact| serde_json::to_value(fact).ok()) {
        record.extra.insert(PULL_REQUEST.to_owned(), fact);
    }
}

/// Adds the fact about a posted review.
pub fn add_posted_review(record: &mut RunRecord, review: Option<&PostedReviewFact>) {
    if let Some(fact) = review.and_then(|fact| serde_json::to_value(fact).ok()) {
        record.extra.insert(POSTED_REVIEW.to_owned(), fact);
    }
}

/// Returns the repository and number in an address `<host>/<owner>/<name>/pull/<number>`.
fn place(url: &str) -> Option<(String, u64)> {
    let mut parts = url
        .split(['?', '#'])
        .next()?
        .trim_end_matches('/')
        .rsplit('/');
    let number = parts.next()?.parse().ok()?;
    let is_pull = parts.next()? == "pull";
    let (name, owner) = (parts.next()?, parts.next()?);
    (is_pull && !name.is_empty() && !owner.is_empty())
        .then(|| (format!("{owner}/{name}").to_ascii_lowercase(), number))
}

/// Returns the fact in a stored field, or `None` if it is absent or from another version.
pub fn fact<T: for<'de> Deserialize<'de>>(value: Option<&Value>) -> Option<T> {
    T::deserialize(value?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(events: &Value) -> RunRecord {
        RunRecord::from_stored(json!({
            "id": "r", "channelId": "c", "userId": "u", "threadKey": "t", "startedAt": 1, "finishedAt": 9,
            "status": "completed", "eventCount": 1, "storedEventCount": 1, "truncated": false, "events": events,
            "diagnosis": { "findings": [], "eventCount": 1, "verdict": "", "byCategory": {} },
        }))
        .unwrap()
    }

    #[test]
    fn opened_pull_request_is_a_fact() {
        for (event, expected) in [
            (
                json!({ "url": "https://github.com/Acme/App/pull/7", "created": true, "at": 5 }),
                Some((true, 5)),
            ),
            (
                json!({ "url": "https://code.example:8443/acme/app/pull/7/", "created": false }),
                Some((false, 9)),
            ),
            (
                json!({ "url": "https://github.com/acme/app/issues/7" }),
                None,
            ),
            (json!({ "url": "https://github.com/acme/app/pull/x" }), None),
            (json!({}), None),
        ] {
            let mut event = event;
            event["type"] = json!("pr_opened");
            let mut record = record(&json!([event]));
            add_pull_request(&mut record);
            let found: Option<PullRequestFact> = fact(record.extra.get(PULL_REQUEST));
            let expected = expected.map(|(created, at)| PullRequestFact {
                repo: "acme/app".to_owned(),
                number: 7,
                created,
                at,
                state: PullRequestState::Open,
                ended_at: None,
            });
            assert_eq!(found, expected, "{event}");
        }
    }
}
