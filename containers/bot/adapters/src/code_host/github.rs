//! Implements the port's calls, each in a module.

use ars_bot_ports::{
    CodeHost, CodeHostError,
    code_host::{
        Account, BoundedText, ChangedFiles, CheckEntry, CodeHit, Comment, Comparison, FileContent,
        GitAccess, GitCredential, Issue, IssueEdit, IssueFilter, Listed, LogTail, NewIssue,
        NewPullRequest, PostedReview, PullRequestFacts, PullRequestHit, RepositoryFacts,
        ReviewThread, TreeEntry,
    },
};
use ars_codehost::{
    Host,
    diff::Commit,
    pull_request::{CheckRun, PullRequestText},
    review::{OwnReview, Submission},
};
use ars_types::{RefName, RepoSlug};
use async_trait::async_trait;

use super::{
    account::{BOT, GitHub},
    checks, discussion, files, pull_requests, repositories, reviews,
};

#[async_trait]
impl CodeHost for GitHub {
    fn host(&self) -> &Host {
        &self.client.transport.host
    }

    async fn account(&self) -> Result<Account, CodeHostError> {
        let login = self.login().await?;
        Ok(Account {
            login: login.strip_suffix(BOT).unwrap_or(login).to_owned(),
        })
    }

    async fn repositories(&self) -> Result<Listed<RepositoryFacts>, CodeHostError> {
        repositories::list(self).await
    }

    async fn repository(&self, repository: &RepoSlug) -> Result<RepositoryFacts, CodeHostError> {
        repositories::get(self, repository).await
    }

    async fn branch_head(
        &self,
        repository: &RepoSlug,
        branch: &RefName,
    ) -> Result<Option<Commit>, CodeHostError> {
        repositories::branch_head(self, repository, branch).await
    }

    async fn compare(
        &self,
        repository: &RepoSlug,
        base: &str,
        head: &str,
    ) -> Result<Comparison, CodeHostError> {
        repositories::compare(self, repository, base, head).await
    }

    async fn git_credential(
        &self,
        repository: &RepoSlug,
        access: GitAccess,
    ) -> Result<GitCredential, CodeHostError> {
        repositories::git_credential(self, repository, access).await
    }

    fn reject_git_credential(
        &self,
        repository: &RepoSlug,
        access: GitAccess,
        rejected: &GitCredential,
    ) {
        repositories::reject_git_credential(self, repository, access, rejected);
    }

    async fn file(
        &self,
        repository: &RepoSlug,
        path: &str,
        git_ref: Option<&str>,
    ) -> Result<FileContent, CodeHostError> {
        files::file(self, repository, path, git_ref).await
    }

    async fn tree(
        &self,
        repository: &RepoSlug,
        git_ref: Option<&str>,
    ) -> Result<Listed<TreeEntry>, CodeHostError> {
        files::tree(self, repository, git_ref).await
    }

    async fn search_code(
        &self,
        repository: &RepoSlug,
        query: &str,
    ) -> Result<Listed<CodeHit>, CodeHostError> {
        files::search(self, repository, query).await
    }

    async fn pull_request(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<PullRequestFacts, CodeHostError> {
        pull_requests::get(self, repository, number).await
    }

    async fn pull_request_of_branch(
        &self,
        repository: &RepoSlug,
        branch: &RefName,
    ) -> Result<Option<PullRequestHit>, CodeHostError> {
        pull_requests::of_branch(self, repository, branch).await
    }

    async fn open_pull_request(
        &self,
        repository: &RepoSlug,
        request: &NewPullRequest,
    ) -> Result<PullRequestHit, CodeHostError> {
        pull_requests::open(self, repository, request).await
    }

    async fn edit_pull_request(
        &self,
        repository: &RepoSlug,
        number: u64,
        text: &PullRequestText,
    ) -> Result<PullRequestHit, CodeHostError> {
        pull_requests::edit(self, repository, number, text).await
    }

    async fn changed_files(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<ChangedFiles, CodeHostError> {
        files::changed(self, repository, number).await
    }

    async fn unified_diff(
        &self,
        repository: &RepoSlug,
        number: u64,
        max_bytes: usize,
    ) -> Result<BoundedText, CodeHostError> {
        files::unified_diff(self, repository, number, max_bytes).await
    }

    async fn reviews(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Vec<OwnReview>, CodeHostError> {
        reviews::list(self, repository, number).await
    }

    async fn submit_review(
        &self,
        repository: &RepoSlug,
        number: u64,
        submission: &Submission,
    ) -> Result<PostedReview, CodeHostError> {
        reviews::submit(self, repository, number, submission).await
    }

    async fn review_threads(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Listed<ReviewThread>, CodeHostError> {
        reviews::threads(self, repository, number, false).await
    }

    async fn review_discussion(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Listed<ReviewThread>, CodeHostError> {
        reviews::discussion(self, repository, number).await
    }

    async fn resolve_thread(
        &self,
        repository: &RepoSlug,
        thread: &str,
    ) -> Result<(), CodeHostError> {
        reviews::resolve(self, repository, thread).await
    }

    async fn put_check_run(
        &self,
        repository: &RepoSlug,
        check: &CheckRun,
    ) -> Result<(), CodeHostError> {
        checks::put(self, repository, check).await
    }

    async fn checks(
        &self,
        repository: &RepoSlug,
        commit: &Commit,
    ) -> Result<Listed<CheckEntry>, CodeHostError> {
        checks::list(self, repository, commit).await
    }

    async fn log_tail(
        &self,
        repository: &RepoSlug,
        check: u64,
    ) -> Result<Option<LogTail>, CodeHostError> {
        checks::log_tail(self, repository, check).await
    }

    async fn issue(&self, repository: &RepoSlug, number: u64) -> Result<Issue, CodeHostError> {
        discussion::issue(self, repository, number).await
    }

    async fn issues(
        &self,
        repository: &RepoSlug,
        filter: &IssueFilter,
    ) -> Result<Listed<Issue>, CodeHostError> {
        discussion::issues(self, repository, filter).await
    }

    async fn search_issues(
        &self,
        repository: &RepoSlug,
        query: &str,
    ) -> Result<Listed<Issue>, CodeHostError> {
        discussion::search(self, repository, query).await
    }

    async fn create_issue(
        &self,
        repository: &RepoSlug,
        issue: &NewIssue,
    ) -> Result<Issue, CodeHostError> {
        discussion::create(self, repository, issue).await
    }

    async fn edit_issue(
        &self,
        repository: &RepoSlug,
        number: u64,
        edit: &IssueEdit,
    ) -> Result<Issue, CodeHostError> {
        discussion::edit(self, repository, number, edit).await
    }

    async fn comments(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<Listed<Comment>, CodeHostError> {
        discussion::comments(self, repository, number).await
    }

    async fn comment(
        &self,
        repository: &RepoSlug,
        number: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError> {
        discussion::comment(self, repository, number, body).await
    }

    async fn edit_comment(
        &self,
        repository: &RepoSlug,
        comment: u64,
        body: &str,
    ) -> Result<Comment, CodeHostError> {
        discussion::edit_comment(self, repository, comment, body).await
    }
}
