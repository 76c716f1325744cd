//! How the service's own pull requests end: merged or closed.

use ars_types::{RepoSlug, RunId};
use serde_json::Value;

use super::trigger::has_shape;
use crate::{branch::run_of_branch, host::parse_slug};

/// A pull request from a run's branch that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedPullRequest {
    /// The run that opened it.
    pub run: RunId,
    /// The pull request's repository.
    pub repository: RepoSlug,
    /// Number within the repository.
    pub number: u64,
    /// It was merged. Otherwise it was closed.
    pub is_merged: bool,
    /// When it ended, as the host writes it: RFC 3339.
    pub ended_at: Option<String>,
}

/// Returns the pull request that an event ends. `event` is the `X-GitHub-Event` header.
///
/// Anyone can name a fork's branch like a run's branch, so repository and number must match the
/// run's record.
pub fn ended_pull_request(event: &str, body: &Value) -> Option<EndedPullRequest> {
    if event != "pull_request" || !has_shape(event, body) || body["action"] != "closed" {
        return None;
    }
    let pull = &body["pull_request"];
    let is_merged = pull["merged"].as_bool()?;
    let merged_at = pull["merged_at"].as_str().filter(|_| is_merged);
    Some(EndedPullRequest {
        run: run_of_branch(pull["head"]["ref"].as_str()?)?,
        repository: parse_slug(body["repository"]["full_name"].as_str()?)?,
        number: pull["number"].as_u64()?,
        is_merged,
        ended_at: merged_at.or(pull["closed_at"].as_str()).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_closed_pull_requests_of_runs_end() {
        let body = |action: &str, branch: &str, merged: Value| {
            json!({
                "action": action, "repository": { "full_name": "Acme/App" },
                "pull_request": {
                    "number": 7, "merged": merged, "head": { "ref": branch },
                    "merged_at": merged.as_bool().unwrap_or(false).then_some("m"), "closed_at": "c",
                },
            })
        };
        let ended = |is_merged| EndedPullRequest {
            run: RunId::parse("r1").unwrap(),
            repository: RepoSlug::parse("acme/app").unwrap(),
            number: 7,
            is_merged,
            ended_at: Some(if is_merged { "m" } else { "c" }.to_owned()),
        };
        for (event, body, expected) in [
            (
                "pull_request",
                body("closed", "ars/r1/fix", json!(true)),
                Some(ended(true)),
            ),
            (
                "pull_request",
                body("closed", "ars/r1/fix", json!(false)),
                Some(ended(false)),
            ),
            ("pull_request", body("closed", "fix", json!(true)), None),
            (
                "pull_request",
                body("reopened", "ars/r1/fix", json!(false)),
                None,
            ),
            (
                "pull_request",
                body("closed", "ars/r1/fix", json!(null)),
                None,
            ),
            ("issues", body("closed", "ars/r1/fix", json!(true)), None),
        ] {
            assert_eq!(ended_pull_request(event, &body), expected, "{event} {body}");
        }
    }
}
