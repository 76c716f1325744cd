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
/// A call is sent again after a passing fault, within the limits of `ars_codehost::answer`. A call with effects is sent
/// again only if the host answered that it did not perform it, so a caller that sees
/// [`CodeHostError::is_effect_unknown`] searches for the effect first. No call merges, approves or pushes.
#[async_trait]
pub trait CodeHost: Send + Sync {
    /// Returns the addresses of the host.
    fn host(&self) -> &Host;

    /// Returns the service's own account.
    async fn account(&self) -> Result<Account, CodeHostError>;

    /// Lists the repositories that the service may read.
    async fn repositories(&self) -> Result<Listed<RepositoryFacts>, CodeHostError>;

    /// Returns a repository. One that was renamed is [`ars_codehost::answer::Meaning::Moved`].
    async fn repository(&self, repository: &RepoSlug) -> Result<RepositoryFacts, CodeHostError>;

    /// Returns the commit of a branch, or `None` if there is no such branch.
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

    /// Returns a credential of git for one operation on one repository.
    async fn git_credential(
        &self,
        repository: &RepoSlug,
        access: GitAccess,
    ) -> Result<GitCredential, CodeHostError>;

    /// Drops a credential that the host rejected in an operation of git. The next one is fresh.
    fn reject_git_credential(&self, _: &RepoSlug, _: GitAccess, _: &GitCredential) {}

    /// Reads a file. Without a ref, the one of the default branch.
    async fn file(
        &self,
        repository: &RepoSlug,
        path: &str,
        git_ref: Option<&str>,
    ) -> Result<FileContent, CodeHostError>;

    /// Lists the files of a whole tree. Without a ref, that of the default branch.
    async fn tree(
        &self,
        repository: &RepoSlug,
        git_ref: Option<&str>,
    ) -> Result<Listed<TreeEntry>, CodeHostError>;

    /// Searches the code of a repository's default branch.
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

    /// Returns the pull request of a branch of the same repository.
    /// The open one, or else the newest of any state.
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

    /// Replaces title and body of a pull request.
    async fn edit_pull_request(
        &self,
        repository: &RepoSlug,
        number: u64,
        text: &PullRequestText,
    ) -> Result<PullRequestHit, CodeHostError>;

    /// Lists the changed files of a pull request, at most 3,000 as the host does.
    async fn changed_files(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<ChangedFiles, CodeHostError>;

    /// Returns the unified diff of a pull request, cut after a whole line.
    /// One that the host does not show is made of the patches of its files, and is truncated if one is missing.
    async fn unified_diff(
        &self,
        repository: &RepoSlug,
        number: u64,
        max_bytes: usize,
    ) -> Result<BoundedText, CodeHostError>;

    /// Lists the reviews of a pull request, and marks those of the service.
    async fn reviews(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Vec<OwnReview>, CodeHostError>;

    /// Posts a review with its comments on lines in one request.
    async fn submit_review(
        &self,
        repository: &RepoSlug,
        number: u64,
        submission: &Submission,
    ) -> Result<PostedReview, CodeHostError>;

    /// Lists the newest threads of comments on lines of a pull request, oldest first, without replies.
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

    /// Resolves a thread of a pull request.
    async fn resolve_thread(
        &self,
        repository: &RepoSlug,
        thread: &str,
    ) -> Result<(), CodeHostError>;

    /// Creates the check run of the evidence, or replaces the one with the same external id at its head.
    async fn put_check_run(
        &self,
        repository: &RepoSlug,
        check: &CheckRun,
    ) -> Result<(), CodeHostError>;

    /// Lists the checks of a commit, newest first.
    async fn checks(
        &self,
        repository: &RepoSlug,
        commit: &Commit,
    ) -> Result<Listed<CheckEntry>, CodeHostError>;

    /// Returns the end of a check's log, or `None` if the check has none on the host.
    async fn log_tail(
        &self,
        repository: &RepoSlug,
        check: u64,
    ) -> Result<Option<LogTail>, CodeHostError>;

    /// Returns an issue or pull request with its body.
    async fn issue(&self, repository: &RepoSlug, number: u64) -> Result<Issue, CodeHostError>;

    /// Lists issues, without pull requests, newest first.
    async fn issues(
        &self,
        repository: &RepoSlug,
        filter: &IssueFilter,
    ) -> Result<Listed<Issue>, CodeHostError>;

    /// Searches issues and pull requests of a repository.
    async fn search_issues(
        &self,
        repository: &RepoSlug,
        query: &str,
    ) -> Result<Listed<Issue>, CodeHostError>;

    /// Creates an issue.
    async fn create_issue(
        &self,
        repository: &RepoSlug,
        issue: &NewIssue,
    ) -> Result<Issue, CodeHostError>;

    /// Changes an issue.
    async fn edit_issue(
        &self,
        repository: &RepoSlug,
        number: u64,
        edit: &IssueEdit,
    ) -> Result<Issue, CodeHostError>;

    /// Lists the comments of an issue or pull request, oldest first.
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

    /// Replaces the text of a comment of the service.
    async fn edit_comment(
        &self,
        repository: &RepoSlug,
        comment: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError>;
}
