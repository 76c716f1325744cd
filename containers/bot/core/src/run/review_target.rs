//! The pull request under review, as the run and the stored state know it.

use ars_codehost::diff::Commit;
use ars_runs::PostedReviewFact;
use ars_types::{RefName, RepoSlug};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The pull request under review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewTarget {
    /// Repository on the code host.
    pub repository: RepoSlug,
    /// Pull request number on the host.
    pub number: u64,
    /// Branch that the changes are for.
    pub base: String,
    /// The commit under review.
    head: String,
    /// The head moved, and this is the second review.
    pub is_second: bool,
    /// The requester lets the review be posted.
    pub posts: bool,
    /// The run began to submit its review, so a review found later on the head is the run's own.
    #[serde(default)]
    pub is_submitted: bool,
    /// Ids of the service's threads that the run began to resolve.
    #[serde(default)]
    pub resolving: Vec<String>,
    /// The posted review, once the run is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<PostedReviewFact>,
}

impl ReviewTarget {
    /// Starts a first review on this head.
    pub fn new(
        repository: RepoSlug,
        number: u64,
        base: String,
        head: &Commit,
        posts: bool,
    ) -> Self {
        Self {
            repository,
            number,
            base,
            head: head.to_string(),
            is_second: false,
            posts,
            is_submitted: false,
            resolving: Vec::new(),
            posted: None,
        }
    }

    /// Returns the second review, on this head.
    #[must_use]
    pub fn again(&self, head: &Commit) -> Self {
        Self {
            head: head.to_string(),
            is_second: true,
            ..self.clone()
        }
    }

    /// Reads it from a run's state.
    pub fn of_state(state: Option<&Value>) -> Option<Self> {
        Self::deserialize(state?)
            .ok()
            .filter(|target| target.head().is_some())
    }

    /// Returns the commit under review.
    pub fn head(&self) -> Option<Commit> {
        Commit::parse(&self.head)
    }

    /// Returns the base, if git can use the name.
    pub fn base_ref(&self) -> Option<RefName> {
        RefName::parse(self.base.clone()).ok()
    }
}
