//! The trait.

use ars_codehost::{
    Host,
    diff::Commit,
    pull_request::{CheckRun, PullRequestText},
    review::{OwnReview, Submission},
};
use ars_types::{RefName, RepoSlug};
use async_trait::async_trait;

use super::{
    Account, BoundedText, ChangedFiles, CheckEntry, CodeHit, CodeHostError, Comment, Comparison,
    FileContent, GitAccess, GitCredential, Issue, IssueEdit, IssueFilter, LogTail, NewIssue,
    NewPullRequest, PostedReview, PullRequestFacts, PullRequestHit, RepositoryFacts, ReviewThread,
    TreeEntry,
};

/// A list that ends at a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// Entries, in the host's order.
    pub entries: Vec<T>,
    /// The host has more.
    pub truncated: bool,
}

/// A code host, called with the service's own account.
///
/// A call is sent again after a passing fault, within the limits in `ars_codehost::answer`. A call
/// with effects is sent again only if the host answered that it did not perform it, so a caller
/// that sees [`CodeHostError::is_effect_unknown`] searches for the effect first. No call merges,
/// approves or pushes.
#[async_trait]
pub trait CodeHost: Send + Sync {
    /// Returns the host's addresses.
    fn host(&self) -> &Host;

    /// Returns the service's own account.
    async fn account(&self) -> Result<Account, CodeHostError>;

    /// Lists the repositories that the service may read.
    async fn repositories(&self) -> Result<Listed<RepositoryFacts>, CodeHostError>;

    /// Returns a repository. If it was renamed, fails with
    /// [`ars_codehost::answer::Meaning::Moved`].
    async fn repository(&self, repository: &RepoSlug) -> Result<RepositoryFacts, CodeHostError>;

    /// Returns a branch's commit, or `None` if there is no such branch.
    async fn branch_head(
        &self,
        repository: &RepoSlug,
        branch: &RefName,
    ) -> Result<Option<Commit>, CodeHostError>;

    /// Returns what `head` has that the merge base with `base` has not. Both are branches or commits.
    async fn compare(
        &self,
        repository: &RepoSlug,
        base: &str,
        head: &str,
    ) -> Result<Comparison, CodeHostError>;

    /// Returns a git credential for a single operation on a single repository.
    async fn git_credential(
        &self,
        repository: &RepoSlug,
        access: GitAccess,
    ) -> Result<GitCredential, CodeHostError>;

    /// Drops a credential that the host rejected in a git operation. The next is fresh.
    fn reject_git_credential(&self, _: &RepoSlug, _: GitAccess, _: &GitCredential) {}

    /// Reads a file. Without a ref, reads it from the default branch.
    async fn file(
        &self,
        repository: &RepoSlug,
        path: &str,
        git_ref: Option<&str>,
    ) -> Result<FileContent, CodeHostError>;

    /// Lists the files in a whole tree. Without a ref, lists the default branch's tree.
    async fn tree(
        &self,
        repository: &RepoSlug,
        git_ref: Option<&str>,
    ) -> Result<Listed<TreeEntry>, CodeHostError>;

    /// Searches the code on a repository's default branch.
    async fn search_code(
        &self,
        repository: &RepoSlug,
        query: &str,
    ) -> Result<Listed<CodeHit>, CodeHostError>;

    /// Returns a pull request.
    async fn pull_request(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<PullRequestFacts, CodeHostError>;

    /// Returns the pull request for a branch in the same repository: the open one, or else the
    /// newest in any state.
    async fn pull_request_of_branch(
        &self,
        repository: &RepoSlug,
        branch: &RefName,
    ) -> Result<Option<PullRequestHit>, CodeHostError>;

    /// Opens a pull request.
    async fn open_pull_request(
        &self,
        repository: &RepoSlug,
        request: &NewPullRequest,
    ) -> Result<PullRequestHit, CodeHostError>;

    /// Replaces a pull request's title and body.
    async fn edit_pull_request(
        &self,
        repository: &RepoSlug,
        number: u64,
        text: &PullRequestText,
    ) -> Result<PullRequestHit, CodeHostError>;

    /// Lists a pull request's changed files, at most 3,000 as the host does.
    async fn changed_files(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<ChangedFiles, CodeHostError>;

    /// Returns a pull request's unified diff, cut after a whole line. If the host does not show the
    /// diff, it is built from the files' patches, and is truncated if a patch is missing.
    async fn unified_diff(
        &self,
        repository: &RepoSlug,
        number: u64,
        max_bytes: usize,
    ) -> Result<BoundedText, CodeHostError>;

    /// Lists a pull request's reviews, and marks the service's own.
    async fn reviews(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Vec<OwnReview>, CodeHostError>;

    /// Posts a review with line comments in a single request.
    async fn submit_review(
        &self,
        repository: &RepoSlug,
        number: u64,
        submission: &Submission,
    ) -> Result<PostedReview, CodeHostError>;

    /// Lists the newest line comment threads on a pull request, oldest first, without replies.
    async fn review_threads(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Listed<ReviewThread>, CodeHostError>;

    /// Lists the same threads with their last replies.
    async fn review_discussion(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Listed<ReviewThread>, CodeHostError>;

    /// Resolves a pull request's thread.
    async fn resolve_thread(
        &self,
        repository: &RepoSlug,
        thread: &str,
    ) -> Result<(), CodeHostError>;

    /// Creates the evidence's check run, or replaces the check run with the same external id at the
    /// head.
    async fn put_check_run(
        &self,
        repository: &RepoSlug,
        check: &CheckRun,
    ) -> Result<(), CodeHostError>;

    /// Lists a commit's checks, newest first.
    async fn checks(
        &self,
        repository: &RepoSlug,
        commit: &Commit,
    ) -> Result<Listed<CheckEntry>, CodeHostError>;

    /// Returns the end of a check's log, or `None` if the host has no log for it.
    async fn log_tail(
        &self,
        repository: &RepoSlug,
        check: u64,
    ) -> Result<Option<LogTail>, CodeHostError>;

    /// Returns an issue or pull request with the body.
    async fn issue(&self, repository: &RepoSlug, number: u64) -> Result<Issue, CodeHostError>;

    /// Lists issues, without pull requests, newest first.
    async fn issues(
        &self,
        repository: &RepoSlug,
        filter: &IssueFilter,
    ) -> Result<Listed<Issue>, CodeHostError>;

    /// Searches a repository's issues and pull requests.
    async fn search_issues(
        &self,
        repository: &RepoSlug,
        query: &str,
    ) -> Result<Listed<Issue>, CodeHostError>;

    /// Creates an issue, and returns it.
    async fn create_issue(
        &self,
        repository: &RepoSlug,
        issue: &NewIssue,
    ) -> Result<Issue, CodeHostError>;

    /// Changes an issue's given fields.
    async fn edit_issue(
        &self,
        repository: &RepoSlug,
        number: u64,
        edit: &IssueEdit,
    ) -> Result<Issue, CodeHostError>;

    /// Lists the comments on an issue or pull request, oldest first.
    async fn comments(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Listed<Comment>, CodeHostError>;

    /// Comments on an issue or pull request.
    async fn comment(
        &self,
        repository: &RepoSlug,
        number: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError>;

    /// Replaces the text in the service's own comment.
    async fn edit_comment(
        &self,
        repository: &RepoSlug,
        comment: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError>;
}
