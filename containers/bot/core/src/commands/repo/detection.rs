//! Detects a repository's command table from the root files on the code host.

use std::collections::BTreeMap;

use ars_bot_ports::{
    CodeHost, CodeHostError,
    code_host::{FileContent, TreeEntry},
};
use ars_resident::detect::{Detection, detect, manifest};
use ars_types::{RepoSlug, StrictRefName};

/// Reads the root's names and a single manifest, and detects the table.
///
/// # Errors
/// Why the repository cannot be inspected.
pub(super) async fn inspect(
    host: Option<&dyn CodeHost>,
    repository: &RepoSlug,
    git_ref: &StrictRefName,
) -> Result<Detection, String> {
    let host = host.ok_or_else(|| "no code host is configured".to_owned())?;
    let reason = |error: CodeHostError| {
        tracing::info!(error = %error, repository = %repository, "repository not inspected");
        error.to_string()
    };
    let root = host
        .file(repository, "", Some(git_ref.as_str()))
        .await
        .map_err(reason)?;
    let FileContent::Folder(entries) = root else {
        return Err("the root is no folder".to_owned());
    };
    let is_file = |entry: &TreeEntry| !entry.is_folder;
    // Only that manifest's contents are needed.
    let mut files: BTreeMap<String, String> = entries
        .into_iter()
        .filter(is_file)
        .map(|entry| (entry.path, String::new()))
        .collect();
    if let Some(name) = manifest(files.keys().map(String::as_str)) {
        let content = host
            .file(repository, name, Some(git_ref.as_str()))
            .await
            .map_err(reason)?;
        let FileContent::Text(content) = content else {
            return Err(format!("{name} is no text"));
        };
        if content.truncated {
            return Err(format!("{name} is too large"));
        }
        files.insert(name.to_owned(), content.text);
    }
    Ok(detect(&files))
}
