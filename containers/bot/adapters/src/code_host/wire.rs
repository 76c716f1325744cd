//! The host's JSON, as far as it is read. Fields that a version may leave out have defaults.

use ars_bot_ports::CodeHostError;
use ars_types::UnixMillis;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

/// Characters in a path segment that are sent unchanged.
const PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// Entries on a page.
pub(super) const PAGE: usize = 100;

#[derive(Deserialize)]
pub(super) struct Repository {
    pub(super) full_name: String,
    pub(super) default_branch: String,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) private: bool,
    #[serde(default)]
    pub(super) archived: bool,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) login: String,
}

#[derive(Deserialize)]
pub(super) struct App {
    pub(super) slug: String,
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct PullRequest {
    pub(super) number: u64,
    pub(super) html_url: String,
    pub(super) state: String,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) head: Branch,
    pub(super) base: Branch,
    #[serde(default)]
    pub(super) changed_files: u64,
    #[serde(default)]
    pub(super) additions: u64,
    #[serde(default)]
    pub(super) deletions: u64,
    pub(super) created_at: String,
    pub(super) closed_at: Option<String>,
    pub(super) merged_at: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Branch {
    #[serde(rename = "ref")]
    pub(super) name: String,
    pub(super) sha: String,
    pub(super) repo: Option<NamedRepository>,
}

#[derive(Deserialize)]
pub(super) struct NamedRepository {
    pub(super) full_name: String,
}

#[derive(Deserialize)]
pub(super) struct File {
    pub(super) filename: String,
    pub(super) status: String,
    pub(super) previous_filename: Option<String>,
    #[serde(default)]
    pub(super) additions: u64,
    #[serde(default)]
    pub(super) deletions: u64,
    pub(super) patch: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Comparison {
    pub(super) ahead_by: u64,
    pub(super) behind_by: u64,
    pub(super) merge_base_commit: Option<Sha>,
    #[serde(default)]
    pub(super) files: Vec<File>,
}

#[derive(Deserialize)]
pub(super) struct Sha {
    pub(super) sha: String,
}

#[derive(Deserialize)]
pub(super) struct Reference {
    pub(super) object: Sha,
}

#[derive(Deserialize)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) body: String,
    #[serde(default)]
    pub(super) html_url: String,
}

#[derive(Deserialize)]
pub(super) struct CheckRuns {
    pub(super) check_runs: Vec<CheckRun>,
}

#[derive(Deserialize)]
pub(super) struct CheckRun {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) external_id: Option<String>,
    pub(super) conclusion: Option<String>,
    pub(super) html_url: Option<String>,
    pub(super) output: Option<CheckOutput>,
    pub(super) app: Option<App>,
}

#[derive(Deserialize)]
pub(super) struct CheckOutput {
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    pub(super) html_url: String,
    pub(super) state: String,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) labels: Vec<Label>,
    #[serde(default)]
    pub(super) comments: u64,
    pub(super) updated_at: String,
    pub(super) pull_request: Option<serde::de::IgnoredAny>,
    /// API address for the repository.
    #[serde(default)]
    pub(super) repository_url: String,
}

#[derive(Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) html_url: String,
    pub(super) user: Option<User>,
    pub(super) body: Option<String>,
    pub(super) created_at: String,
}

#[derive(Deserialize)]
pub(super) struct SearchPage<T> {
    #[serde(default)]
    pub(super) total_count: u64,
    pub(super) items: Vec<T>,
}

#[derive(Deserialize)]
pub(super) struct CodeHit {
    pub(super) path: String,
    pub(super) repository: Option<NamedRepository>,
}

#[derive(Deserialize)]
pub(super) struct Tree {
    pub(super) tree: Vec<TreeEntry>,
    #[serde(default)]
    pub(super) truncated: bool,
}

#[derive(Deserialize)]
pub(super) struct TreeEntry {
    pub(super) path: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) size: Option<u64>,
}

/// Content at a path: a file, or a folder's entries.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Folder(Vec<FolderEntry>),
    File(FileContent),
}

#[derive(Deserialize)]
pub(super) struct FolderEntry {
    pub(super) path: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) size: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct FileContent {
    #[serde(default)]
    pub(super) size: u64,
    pub(super) content: Option<String>,
}

/// Encodes a single path segment, so no text in it becomes another segment or a query.
pub(super) fn part(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

/// Encodes a path with several segments.
pub(super) fn parts(path: &str) -> String {
    path.trim_matches('/')
        .split('/')
        .map(part)
        .collect::<Vec<_>>()
        .join("/")
}

/// Parses a time from the host.
pub(super) fn time(text: &str) -> Result<UnixMillis, CodeHostError> {
    let parsed: jiff::Timestamp = text.parse().map_err(|_| CodeHostError::Unreadable)?;
    Ok(parsed.as_millisecond())
}

/// Returns a login; an account that was deleted has none.
pub(super) fn login(user: Option<User>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |user| user.login)
}
