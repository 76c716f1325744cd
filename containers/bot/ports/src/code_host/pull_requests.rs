//! Pull requests, comparisons, reviews and their threads.

use ars_codehost::{
    diff::Commit,
    pull_request::PullRequestText,
    review::{PullRequest, PullRequestState},
};
use ars_types::{RefName, RepoSlug, UnixMillis};

use super::ChangedFiles;

/// A pull request with diff numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestFacts {
    /// The pull request as a review reads it.
    pub pull_request: PullRequest,
    /// Address of the web page.
    pub url: String,
    /// It is a draft.
    pub is_draft: bool,
    /// The author's login. Untrusted.
    pub author: String,
    /// The service's account is the author.
    pub is_own: bool,
    /// The head branch's repository; `None` if that was deleted. A fork has another repository.
    pub head_repository: Option<RepoSlug>,
    /// Number of changed files.
    pub changed_files: u64,
    /// Number of added lines.
    pub additions: u64,
    /// Number of removed lines.
    pub deletions: u64,
    /// When it was opened.
    pub opened_at: UnixMillis,
    /// When it was closed or merged.
    pub closed_at: Option<UnixMillis>,
    /// When it was merged.
    pub merged_at: Option<UnixMillis>,
}

/// A pull request that was found or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestHit {
    /// Number within the repository.
    pub number: u64,
    /// Address of the web page.
    pub url: String,
    /// The title. Untrusted.
    pub title: String,
    /// Open, closed or merged.
    pub state: PullRequestState,
    /// The service's account is the author.
    pub is_own: bool,
}

/// A pull request to open within a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// The title and body.
    pub text: PullRequestText,
    /// Branch with the changes.
    pub head: RefName,
    /// Branch that they are for.
    pub base: RefName,
    /// It is a draft.
    pub is_draft: bool,
}

/// The difference between two refs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Commits that only `head` has.
    pub ahead: u64,
    /// Commits that only `base` has.
    pub behind: u64,
    /// The merge base; `None` without a common ancestor.
    pub merge_base: Option<Commit>,
    /// Files that changed since the merge base. The host lists at most 300.
    pub files: ChangedFiles,
}

/// A review that was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedReview {
    /// Id on the host.
    pub id: u64,
    /// Address of the web page.
    pub url: String,
}

/// A comment thread on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewThread {
    /// Id by which it is resolved.
    pub id: String,
    /// The service's account began it.
    pub is_own: bool,
    /// Whether the thread is resolved.
    pub is_resolved: bool,
    /// The line is no longer part of the diff.
    pub is_outdated: bool,
    /// The file's path. Untrusted.
    pub path: String,
    /// Line in the current diff.
    pub line: Option<u64>,
    /// Login of the first comment's author. Untrusted.
    pub author: String,
    /// The first comment's text. Untrusted.
    pub body: String,
    /// The last replies, oldest first, if the call reads replies.
    pub replies: Vec<ThreadReply>,
    /// Number of earlier replies, which are not included.
    pub earlier_replies: u64,
}

/// A reply in a line comment thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadReply {
    /// The author's login. Untrusted.
    pub author: String,
    /// The reply's text. Untrusted.
    pub body: String,
}
