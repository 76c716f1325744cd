//! What a run works on beside its answer.

use ars_bot_tools::{DescriptionSlot, review::VerdictSlot};
use ars_codehost::pull_request::KnownCommands;
use ars_types::RefName;

use super::{evidence::EvidenceLog, named_pull::NamedPullRequest, review_target::ReviewTarget};

/// What a run works on beside its answer.
pub enum Work {
    /// Nothing: the run answers.
    Answer,
    /// A change. Its commits become a pull request.
    Change {
        /// Receives the pull request's description.
        description: DescriptionSlot,
        /// Receives the pull request's evidence.
        evidence: EvidenceLog,
        /// The test and build commands from the repository's table.
        commands: KnownCommands,
        /// The ref that the change started from, if the request named it.
        base: Option<RefName>,
        /// The pull request that the request names.
        named: Option<NamedPullRequest>,
    },
    /// A review.
    Review {
        /// Receives the verdict.
        verdict: VerdictSlot,
        /// The pull request under review, if the request names any.
        target: Option<ReviewTarget>,
    },
}

impl Work {
    /// Returns where a review's verdict goes.
    pub fn verdict(&self) -> Option<&VerdictSlot> {
        match self {
            Self::Review { verdict, .. } => Some(verdict),
            Self::Answer | Self::Change { .. } => None,
        }
    }

    /// Returns where a change's description goes.
    pub fn description(&self) -> Option<&DescriptionSlot> {
        match self {
            Self::Change { description, .. } => Some(description),
            Self::Answer | Self::Review { .. } => None,
        }
    }

    /// Returns the pull request under review.
    pub fn review_target(&self) -> Option<&ReviewTarget> {
        match self {
            Self::Review { target, .. } => target.as_ref(),
            Self::Answer | Self::Change { .. } => None,
        }
    }

    /// Returns the pull request that a change's request names.
    pub fn named_pull_request(&self) -> Option<&NamedPullRequest> {
        match self {
            Self::Change { named, .. } => named.as_ref(),
            Self::Answer | Self::Review { .. } => None,
        }
    }
}
