//! Finds a review's pull request in the stored record.

use ars_bot_ports::CodeHost;
use ars_codehost::parse_slug;
use ars_runs::{POSTED_REVIEW, PostedReviewFact, RunRecord, fact};
use ars_types::RepoSlug;

use crate::context::Deps;

/// A review's pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) repository: RepoSlug,
    pub(super) number: u64,
}

/// Returns a review's pull request: that of the posted review, or else of the `run_meta` event.
pub(super) fn target(deps: &Deps, host: &dyn CodeHost, record: &RunRecord) -> Option<Target> {
    if let Some(posted) = fact::<PostedReviewFact>(record.extra.get(POSTED_REVIEW)) {
        return Some(Target {
            repository: parse_slug(&posted.repo)?,
            number: posted.number,
        });
    }
    let of_meta =
        |event: &serde_json::Value| (event["type"] == "run_meta").then(|| event["pr"].as_u64())?;
    let number = record.events.iter().find_map(of_meta)?;
    let name = record.repo.as_deref()?;
    let configured = || {
        let known = deps
            .settings
            .repositories
            .iter()
            .find(|known| known.name == name)?;
        host.host().repository_of(&known.origin)
    };
    Some(Target {
        repository: configured().or_else(|| parse_slug(name))?,
        number,
    })
}
