//! Who reads written texts: a private repository's text is not posted where everyone reads it.
//!
//! A run has the text from the working tree and from each repository that it read. Not here: text
//! that commands download, and names and descriptions in a repository list.

use std::collections::BTreeSet;

use ars_bot_ports::{CodeHost, CodeHostError};
use ars_types::RepoSlug;

use super::access::{CodeHostAccess, within};
use crate::{ToolContext, ToolOutput};

/// Returns the private repository among `sources` whose text everyone would read in `target`.
/// A source that the host does not describe counts as private.
///
/// # Errors
/// The host does not describe the target.
pub async fn exposed_source(
    host: &dyn CodeHost,
    mut sources: BTreeSet<RepoSlug>,
    target: &RepoSlug,
) -> Result<Option<RepoSlug>, CodeHostError> {
    sources.remove(target);
    if sources.is_empty() || host.repository(target).await?.is_private {
        return Ok(None);
    }
    for source in sources {
        if host
            .repository(&source)
            .await
            .map_or(true, |facts| facts.is_private)
        {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

/// Refuses a tool's text for a public repository if the run has text from another, private
/// repository.
pub(super) async fn check(
    context: &ToolContext<'_>,
    access: CodeHostAccess<'_>,
    target: &RepoSlug,
) -> Result<(), ToolOutput> {
    let mut sources = access.read.all();
    let origin = context.workspace.and_then(|workspace| workspace.origin());
    sources.extend(origin.and_then(|origin| access.host.host().repository_of(origin)));
    match within(context, exposed_source(access.host, sources, target)).await? {
        None => Ok(()),
        Some(source) => Err(ToolOutput::refused(format!(
            "Not posted: everyone reads {target}, and this run has text of {source}, which is private. Answer the \
             requester instead."
        ))),
    }
}
