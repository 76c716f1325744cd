//! Whether a pull request is the service's own: by author, or by the branch's run.
//!
//! Everyone with access to a repository writes the pull request body and names the branch, so
//! neither is evidence.

use ars_bot_ports::{RunStore, StoreError};
use ars_codehost::run_of_branch;
use ars_runs::{PULL_REQUEST, PullRequestFact, fact};
use ars_types::RepoSlug;
use serde_json::Value;

/// Returns whether a pull request is the service's own. `by_author` is what the host states.
pub(crate) async fn is_own(
    store: &dyn RunStore,
    (repository, number): (&RepoSlug, u64),
    branch: &str,
    by_author: bool,
) -> Result<bool, StoreError> {
    if by_author {
        return Ok(true);
    }
    let Some(run) = run_of_branch(branch) else {
        return Ok(false);
    };
    let record = store.get(&run).await?;
    Ok(record
        .is_some_and(|record| has_number(record.extra.get(PULL_REQUEST), (repository, number))))
}

/// Returns whether a record's fact is about this pull request.
fn has_number(known: Option<&Value>, (repository, number): (&RepoSlug, u64)) -> bool {
    let known = fact::<PullRequestFact>(known);
    known.is_some_and(|known| {
        known.repo.eq_ignore_ascii_case(repository.as_str()) && known.number == number
    })
}

#[cfg(test)]
mod tests {
    use ars_types::RunId;
    use serde_json::json;

    use super::*;
    use crate::history::NoHistory;

    #[test]
    fn record_of_the_branch_has_the_number() {
        let repository = RepoSlug::parse("acme/app").unwrap();
        let fact_of =
            |number: u64| json!({ "repo": "acme/app", "number": number, "created": true, "at": 1 });
        assert!(!has_number(None, (&repository, 7)));
        for (number, expected) in [(7, true), (8, false)] {
            assert_eq!(
                has_number(Some(&fact_of(number)), (&repository, 7)),
                expected
            );
        }
    }

    #[tokio::test]
    async fn branch_alone_is_no_evidence() {
        let repository = RepoSlug::parse("acme/app").unwrap();
        assert!(run_of_branch("ars/r1/fix").is_some_and(|run| run == RunId::parse("r1").unwrap()));
        for (branch, by_author, expected) in [
            ("ars/r1/fix", true, true),
            ("ars/r1/fix", false, false),
            ("fix", false, false),
        ] {
            let own = is_own(&NoHistory, (&repository, 7), branch, by_author)
                .await
                .unwrap();
            assert_eq!(own, expected, "{branch} {by_author}");
        }
    }
}
