//! The pull request that a coding run's request names, as the run's state keeps it.

use ars_types::RefName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A pull request that a coding run continues, or that the run's own pull request refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedPullRequest {
    /// Pull request number on the host.
    pub number: u64,
    /// Address of the web page.
    pub url: String,
    /// Its branch and target branch, if the run continues it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued: Option<ContinuedBranch>,
    /// Why the run does not continue it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run changes this pull request, or nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_required: bool,
}

/// A continued pull request's branches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuedBranch {
    /// The branch that commits are pushed to.
    pub head: RefName,
    /// The branch that they are for.
    pub base: RefName,
}

impl NamedPullRequest {
    /// Reads it from a run's state.
    pub fn of_state(state: Option<&Value>) -> Option<Self> {
        Self::deserialize(state?).ok()
    }

    /// Returns the branch that the run continues.
    pub fn head(&self) -> Option<&RefName> {
        self.continued.as_ref().map(|continued| &continued.head)
    }
}
