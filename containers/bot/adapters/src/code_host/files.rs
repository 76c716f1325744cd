//! Files, trees, diffs and searches in code.

use ars_bot_ports::{
    CodeHostError,
    code_host::{BoundedText, ChangedFile, ChangedFiles, CodeHit, FileContent, Listed, TreeEntry},
};
use ars_codehost::{answer::Meaning, parse_slug};
use ars_types::RepoSlug;
use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    account::GitHub,
    call::{HostCall, Limit},
    patches::joined,
    wire::{self, PAGE, part, parts},
};

/// Maximum changed-file pages: the host lists 3,000 files.
const MAX_FILE_PAGES: usize = 30;
/// Maximum file text in characters.
const MAX_FILE_CHARS: usize = 200_000;
/// Media type for a unified diff.
const DIFF: &str = "application/vnd.github.diff";
/// Media type for a file's bytes.
const RAW: &str = "application/vnd.github.raw+json";
/// Leading file bytes in which a zero byte marks the file as binary, as git does.
const SNIFFED_BYTES: usize = 8_000;

/// Reads a file or folder.
pub(super) async fn file(
    github: &GitHub,
    repository: &RepoSlug,
    path: &str,
    git_ref: Option<&str>,
) -> Result<FileContent, CodeHostError> {
    let query = git_ref.map_or_else(String::new, |name| format!("?ref={}", part(name)));
    let route = format!("/repos/{repository}/contents/{}{query}", parts(path));
    let found = match github.client.get(&route).await? {
        wire::Content::Folder(entries) => {
            let entry = |one: wire::FolderEntry| TreeEntry {
                is_folder: one.kind == "dir",
                bytes: one.size.filter(|_| one.kind == "file"),
                path: one.path,
            };
            return Ok(FileContent::Folder(
                entries.into_iter().map(entry).collect(),
            ));
        }
        wire::Content::File(found) => found,
    };
    let encoded: String = found
        .content
        .unwrap_or_default()
        .split_ascii_whitespace()
        .collect();
    let (bytes, is_cut) = if encoded.is_empty() && found.size > 0 {
        // Above 1 MB the host leaves the content out.
        let call = HostCall::read(repository, route, RAW, Limit::Start(MAX_FILE_CHARS * 4));
        let answer = github.client.transport.execute(&call).await?;
        (answer.body.to_vec(), answer.is_cut)
    } else {
        (
            STANDARD
                .decode(encoded)
                .map_err(|_| CodeHostError::Unreadable)?,
            false,
        )
    };
    if bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0) {
        return Ok(FileContent::Binary { bytes: found.size });
    }
    let whole = String::from_utf8_lossy(&bytes);
    let text: String = whole.chars().take(MAX_FILE_CHARS).collect();
    let truncated = is_cut || text.len() < whole.len();
    Ok(FileContent::Text(BoundedText { text, truncated }))
}

/// Lists the files in a tree.
pub(super) async fn tree(
    github: &GitHub,
    repository: &RepoSlug,
    git_ref: Option<&str>,
) -> Result<Listed<TreeEntry>, CodeHostError> {
    let name = part(git_ref.unwrap_or("HEAD"));
    let found: wire::Tree = github
        .client
        .get(&format!("/repos/{repository}/git/trees/{name}?recursive=1"))
        .await?;
    let entry = |one: wire::TreeEntry| TreeEntry {
        path: one.path,
        is_folder: one.kind == "tree",
        bytes: one.size,
    };
    Ok(Listed {
        entries: found.tree.into_iter().map(entry).collect(),
        truncated: found.truncated,
    })
}

/// Searches a repository's code.
pub(super) async fn search(
    github: &GitHub,
    repository: &RepoSlug,
    query: &str,
) -> Result<Listed<CodeHit>, CodeHostError> {
    let words = part(&qualified(repository, query)?);
    let found: wire::SearchPage<wire::CodeHit> = github
        .client
        .search(
            repository,
            &format!("/search/code?q={words}&per_page={PAGE}"),
        )
        .await?;
    Ok(hits(repository, found))
}

/// Returns the hits in the repository. The token may see others too.
fn hits(repository: &RepoSlug, found: wire::SearchPage<wire::CodeHit>) -> Listed<CodeHit> {
    let truncated = found.total_count > found.items.len() as u64;
    let is_own = |one: &wire::CodeHit| {
        one.repository
            .as_ref()
            .and_then(|hit| parse_slug(&hit.full_name))
            .as_ref()
            == Some(repository)
    };
    let own = found.items.into_iter().filter(is_own);
    let entries = own
        .map(|one| CodeHit {
            path: one.path,
            excerpts: Vec::new(),
        })
        .collect();
    Listed { entries, truncated }
}

/// Adds the repository to the search words. They may neither name another scope nor lift this scope
/// by an operator. An open quotation in them does not include it.
pub(super) fn qualified(repository: &RepoSlug, query: &str) -> Result<String, CodeHostError> {
    const SCOPES: [&str; 4] = ["repo:", "org:", "user:", "enterprise:"];
    const OPERATORS: [&str; 3] = ["OR", "AND", "NOT"];
    let lower = query.to_ascii_lowercase();
    let is_operator = |word: &str| OPERATORS.contains(&word) || word.contains(['(', ')']);
    if SCOPES.iter().any(|scope| lower.contains(scope)) || query.split_whitespace().any(is_operator)
    {
        return Err(CodeHostError::Answer(Meaning::Invalid));
    }
    Ok(format!("repo:{repository} {query}"))
}

/// Lists a pull request's changed files.
pub(super) async fn changed(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
) -> Result<ChangedFiles, CodeHostError> {
    let mut files: Vec<wire::File> = Vec::new();
    for page in 1..=MAX_FILE_PAGES {
        let route = format!("/repos/{repository}/pulls/{number}/files?per_page={PAGE}&page={page}");
        let found: Vec<wire::File> = github.client.get(&route).await?;
        let is_last = found.len() < PAGE;
        files.extend(found);
        if is_last {
            return Ok(of_wire(files, false));
        }
    }
    Ok(of_wire(files, true))
}

/// Reads a pull request's unified diff.
pub(super) async fn unified_diff(
    github: &GitHub,
    repository: &RepoSlug,
    number: u64,
    max_bytes: usize,
) -> Result<BoundedText, CodeHostError> {
    let route = format!("/repos/{repository}/pulls/{number}");
    let call = HostCall::read(repository, route, DIFF, Limit::Start(max_bytes));
    let answer = match github.client.transport.execute(&call).await {
        Ok(answer) => answer,
        // The file list has a higher limit.
        Err(CodeHostError::Answer(Meaning::DiffTooLarge)) => {
            return Ok(joined(
                &changed(github, repository, number).await?,
                max_bytes,
            ));
        }
        Err(error) => return Err(error),
    };
    let end = match answer.is_cut {
        true => answer
            .body
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1),
        false => answer.body.len(),
    };
    let text = String::from_utf8_lossy(&answer.body[..end]).into_owned();
    Ok(BoundedText {
        text,
        truncated: answer.is_cut,
    })
}

/// Converts a diff's files.
pub(super) fn of_wire(files: Vec<wire::File>, truncated: bool) -> ChangedFiles {
    let file = |one: wire::File| ChangedFile {
        path: one.filename,
        status: one.status,
        previous_path: one.previous_filename,
        additions: one.additions,
        deletions: one.deletions,
        patch: one.patch,
    };
    ChangedFiles {
        files: files.into_iter().map(file).collect(),
        truncated,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn search_is_limited_to_its_repository() {
        let app = RepoSlug::parse("acme/app").unwrap();
        assert_eq!(qualified(&app, "\"open").unwrap(), "repo:acme/app \"open");
        for query in ["x repo:acme/secret", "x OR y", "(x)"] {
            assert!(qualified(&app, query).is_err(), "{query}");
        }
        let found = json!({ "total_count": 3, "items": [
            { "path": "own", "repository": { "full_name": "Acme/App" } },
            { "path": "foreign", "repository": { "full_name": "acme/secret" } },
            { "path": "unknown" },
        ] });
        let listed = hits(&app, serde_json::from_value(found).unwrap());
        let paths: Vec<&str> = listed.entries.iter().map(|hit| hit.path.as_str()).collect();
        assert_eq!((paths.as_slice(), listed.truncated), (&["own"][..], false));
    }
}
