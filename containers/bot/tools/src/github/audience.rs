//! The audience of written texts: text of a private repository is not posted where everyone reads it.
//!
//! A run has the text of its working tree and of each repository that it read. Not here: text that commands download,
//! and names and descriptions in a list of repositories.

use ars_types::RepoSlug;

use super::access::{CodeHostAccess, within};
use crate::{ToolContext, ToolOutput};

/// Refuses a text for a public repository if the run has text of another, private one.
/// A repository that the host does not describe counts as private.
pub(super) async fn check(
    context: &ToolContext<'_>,
    access: CodeHostAccess<'_>,
    target: &RepoSlug,
) -> Result<(), ToolOutput> {
    let mut sources = access.read.all();
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
