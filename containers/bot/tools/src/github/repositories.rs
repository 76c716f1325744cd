//! Repositories, files, trees, searches in code.

use ars_bot_ports::code_host::{FileContent, TreeEntry};
use serde_json::Value;

use super::{
    access::{CodeHostAccess, RepositoryCall, within},
    kind::GitHubTool,
    shown::{line, untrusted},
};
use crate::{ToolContext, ToolOutput, args::Args};

/// Maximum characters per code host search.
pub(super) const MAX_SEARCH_CHARS: usize = 250;

/// Lists the repositories that the requester may read.
pub(super) async fn list(
    context: &ToolContext<'_>,
    input: &Value,
) -> Result<ToolOutput, ToolOutput> {
    let args = Args::parse(input, GitHubTool::Repos.fields().0)?;
    let access = CodeHostAccess::from_context(context)?;
    let offset = args.offset()?;
    let listed = within(context, access.host.repositories()).await?;
    // A closed repository is not even named.
    let open = listed
        .entries
        .iter()
        .filter(|one| access.gate.read(&one.repository).is_ok());
    let text: String = open
        .map(|one| {
            let archived = if one.is_archived { " (archived)" } else { "" };
            format!("{}{archived}: {}\n", one.repository, line(&one.description))
        })
        .collect();
    let head = if listed.truncated {
        "Repositories; there are more."
    } else {
        "Repositories."
    };
    Ok(untrusted(context, head, text, offset))
}

/// Runs a repository tool.
pub(super) async fn run(
    context: &ToolContext<'_>,
    call: RepositoryCall<'_>,
) -> Result<ToolOutput, ToolOutput> {
    let RepositoryCall {
        tool,
        args,
        access,
        repository,
        offset,
    } = call;
    let git_ref = args.optional_text("ref");
    match tool {
        GitHubTool::File => {
            let path = args.text("path")?;
            match within(context, access.host.file(&repository, path, git_ref?)).await? {
                FileContent::Text(file) => {
                    let cut = if file.truncated {
                        " Its end is not shown."
                    } else {
                        ""
                    };
                    Ok(untrusted(
                        context,
                        &format!("File.{cut}"),
                        file.text,
                        offset,
                    ))
                }
                FileContent::Binary { bytes } => Ok(ToolOutput::text(format!(
                    "A binary file of {bytes} bytes; it is not shown."
                ))),
                FileContent::Folder(entries) => {
                    Ok(untrusted(context, "Folder.", paths(&entries), offset))
                }
            }
        }
        GitHubTool::Tree => {
            let tree = within(context, access.host.tree(&repository, git_ref?)).await?;
            let head = if tree.truncated {
                "Files; there are more."
            } else {
                "Files."
            };
            Ok(untrusted(context, head, paths(&tree.entries), offset))
        }
        _ => {
            let query = words(&args)?;
            let found = within(context, access.host.search_code(&repository, query)).await?;
            let head = format!(
                "{} files{}.",
                found.entries.len(),
                if found.truncated { " or more" } else { "" }
            );
            let text: String = found
                .entries
                .iter()
                .map(|hit| format!("{}\n", line(&hit.path)))
                .collect();
            Ok(untrusted(context, &head, text, offset))
        }
    }
}

/// Returns a search's words.
pub(super) fn words<'a>(args: &Args<'a>) -> Result<&'a str, ToolOutput> {
    let query = args.text("query")?.trim();
    if query.is_empty() || query.chars().count() > MAX_SEARCH_CHARS {
        return Err(ToolOutput::refused(format!(
            "`query` must have 1 to {MAX_SEARCH_CHARS} characters."
        )));
    }
    Ok(query)
}

fn paths(entries: &[TreeEntry]) -> String {
    let entry = |one: &TreeEntry| match (one.is_folder, one.bytes) {
        (true, _) => format!("{}/\n", line(&one.path)),
        (false, Some(bytes)) => format!("{} ({bytes} bytes)\n", line(&one.path)),
        (false, None) => format!("{}\n", line(&one.path)),
    };
    entries.iter().map(entry).collect()
}
