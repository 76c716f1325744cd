//! The audience of written texts: what a private repository says is not posted where everyone reads it.
//!
//! A run has the text of its working tree and of each repository that it read. Not here: text that commands download,
//! and names and descriptions in a list of repositories.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ars_agent::{Part, Turn};
use ars_codehost::parse_slug;
use ars_types::RepoSlug;

use super::{
    access::{CodeHostAccess, within},
    kind::GitHubTool,
};
use crate::{ToolContext, ToolOutput};

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

    fn lock(&self) -> MutexGuard<'_, BTreeSet<RepoSlug>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses a text for a public repository if the run has text of another, private one.
/// A repository that the host does not describe counts as private.
pub(super) async fn check(
    context: &ToolContext<'_>,
    access: CodeHostAccess<'_>,
    target: &RepoSlug,
) -> Result<(), ToolOutput> {
    let mut sources = access.read.lock().clone();
    let origin = context.workspace.and_then(|workspace| workspace.origin());
    sources.extend(origin.and_then(|origin| access.host.host().repository_of(origin)));
    sources.remove(target);
    if sources.is_empty() || within(context, access.host.repository(target)).await?.is_private {
        return Ok(());
    }
    for source in sources {
        let facts = within(context, access.host.repository(&source)).await;
        if facts.map_or(true, |facts| facts.is_private) {
            return Err(ToolOutput::refused(format!(
                "Not posted: everyone reads {target}, and this run has text of {source}, which is private. Answer the \
                 requester instead."
            )));
        }
    }
    Ok(())
}
