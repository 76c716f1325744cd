//! The repositories that a run read by its tools. Not here: the consequence (`audience`).

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ars_agent::{Part, Turn};
use ars_codehost::parse_slug;
use ars_types::RepoSlug;

use super::kind::GitHubTool;

/// The repositories that a run read by its tools.
#[derive(Debug, Default)]
pub struct ReadRepositories(Mutex<BTreeSet<RepoSlug>>);

impl ReadRepositories {
    /// Adds the repositories of a stored conversation, for a resumed run.
    pub fn restore(&self, turns: &[Turn]) {
        let is_read = |tool: &str| GitHubTool::READS.iter().any(|read| read.name() == tool);
        let of_part = |part: &Part| match part {
            Part::ToolCall { name, input, .. } if is_read(name) => {
                input["repo"].as_str().and_then(|named| parse_slug(named.trim()))
            }
            _ => None,
        };
        self.lock().extend(turns.iter().flat_map(|turn| &turn.parts).filter_map(of_part));
    }

    /// Adds a repository.
    pub fn add(&self, repository: RepoSlug) {
        self.lock().insert(repository);
    }

    /// Returns the repositories.
    pub(super) fn all(&self) -> BTreeSet<RepoSlug> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<RepoSlug>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
