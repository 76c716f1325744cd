//! A code host in memory, which fails on demand. It has issues and root files, and no other data.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use ars_bot_core::Capabilities;
use ars_bot_ports::{CodeHost, CodeHostError, code_host::*};
use ars_codehost::{
    Host,
    answer::Meaning,
    diff::Commit,
    pull_request::{CheckRun, PullRequestText},
    review::{OwnReview, PullRequest, PullRequestState, Submission},
};
use ars_types::{RefName, RepoSlug, UnixMillis};
use async_trait::async_trait;
use tokio::sync::oneshot;

/// How creating an issue fails.
#[derive(Debug, Clone, Copy)]
pub enum Failure {
    /// The host rejects it.
    Rejected,
    /// The host creates it, and the answer is lost.
    LostAnswer,
}

/// An in-memory code host.
#[derive(Default)]
pub struct MemoryHost {
    host: Host,
    /// Every issue, with the repository it was created in.
    pub issues: Mutex<Vec<(RepoSlug, Issue)>>,
    /// How the next creations fail.
    pub failures: Mutex<VecDeque<Failure>>,
    /// Every pull request's diff; without it the calls about them fail.
    pub diff: Mutex<Option<String>>,
    /// How and when pull requests ended, by number; other pull requests are open.
    pub ended: Mutex<BTreeMap<u64, (PullRequestState, UnixMillis)>>,
    /// Numbers of the pull requests that were read.
    pub read: Mutex<Vec<u64>>,
    /// Whether listings fail now.
    pub is_down: Mutex<bool>,
    /// The next issue creation reports that it began, and waits for the other end.
    pub hold: Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>>,
    /// Root files in every repository.
    pub files: Mutex<BTreeMap<String, String>>,
}

/// Adds the host as a capability.
pub fn with_host(host: &Arc<MemoryHost>) -> impl FnOnce(Capabilities) -> Capabilities + use<> {
    let code_host: Arc<dyn CodeHost> = Arc::<MemoryHost>::clone(host);
    |capabilities| Capabilities {
        code_host: Some(code_host),
        ..capabilities
    }
}

#[async_trait]
impl CodeHost for MemoryHost {
    fn host(&self) -> &Host {
        &self.host
    }

    async fn issues(
        &self,
        repository: &RepoSlug,
        filter: &IssueFilter,
    ) -> Result<Listed<Issue>, CodeHostError> {
        if *self.is_down.lock().unwrap() {
            return Err(CodeHostError::Unreachable);
        }
        let issues = self.issues.lock().unwrap();
        let is_listed = |issue: &Issue| filter.state.is_none_or(|state| issue.state == state);
        let of_repository = issues
            .iter()
            .filter(|(own, issue)| own == repository && is_listed(issue));
        Ok(Listed {
            entries: of_repository.map(|(_, issue)| issue.clone()).collect(),
            truncated: false,
        })
    }

    async fn create_issue(
        &self,
        repository: &RepoSlug,
        new: &NewIssue,
    ) -> Result<Issue, CodeHostError> {
        let hold = self.hold.lock().unwrap().take();
        if let Some((began, go_on)) = hold {
            began.send(()).unwrap();
            go_on.await.unwrap();
        }
        let failure = self.failures.lock().unwrap().pop_front();
        if let Some(Failure::Rejected) = failure {
            return Err(CodeHostError::Answer(Meaning::PermissionMissing));
        }
        let mut issues = self.issues.lock().unwrap();
        let number = issues.len() as u64 + 1;
        let issue = Issue {
            number,
            url: format!("https://github.com/{repository}/issues/{number}"),
            state: IssueState::Open,
            is_pull_request: false,
            title: new.title.clone(),
            body: new.body.clone(),
            author: "ars[bot]".into(),
            labels: new.labels.clone(),
            comments: 0,
            updated_at: 0,
        };
        issues.push((repository.clone(), issue.clone()));
        match failure {
            Some(Failure::LostAnswer) => Err(CodeHostError::Unreachable),
            _ => Ok(issue),
        }
    }

    async fn account(&self) -> Result<Account, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn repositories(&self) -> Result<Listed<RepositoryFacts>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn repository(&self, _repository: &RepoSlug) -> Result<RepositoryFacts, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn branch_head(
        &self,
        _repository: &RepoSlug,
        _branch: &RefName,
    ) -> Result<Option<Commit>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn compare(
        &self,
        _repository: &RepoSlug,
        _base: &str,
        _head: &str,
    ) -> Result<Comparison, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn git_credential(
        &self,
        _repository: &RepoSlug,
        _access: GitAccess,
    ) -> Result<GitCredential, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn file(
        &self,
        _repository: &RepoSlug,
        path: &str,
        _git_ref: Option<&str>,
    ) -> Result<FileContent, CodeHostError> {
        let files = self.files.lock().unwrap();
        if path.is_empty() {
            let entry = |path: &String| TreeEntry {
                path: path.clone(),
                is_folder: false,
                bytes: None,
            };
            return Ok(FileContent::Folder(files.keys().map(entry).collect()));
        }
        let text = files
            .get(path)
            .ok_or(CodeHostError::Answer(Meaning::NotFound))?;
        Ok(FileContent::Text(BoundedText {
            text: text.clone(),
            truncated: false,
        }))
    }

    async fn tree(
        &self,
        _repository: &RepoSlug,
        _git_ref: Option<&str>,
    ) -> Result<Listed<TreeEntry>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn search_code(
        &self,
        _repository: &RepoSlug,
        _query: &str,
    ) -> Result<Listed<CodeHit>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn pull_request(
        &self,
        repository: &RepoSlug,
        number: u64,
    ) -> Result<PullRequestFacts, CodeHostError> {
        self.read.lock().unwrap().push(number);
        let end = self.ended.lock().unwrap().get(&number).copied();
        if end.is_none() {
            self.diff
                .lock()
                .unwrap()
                .as_ref()
                .ok_or(CodeHostError::Unreachable)?;
        }
        let (state, ended_at) = end.map_or((PullRequestState::Open, None), |(state, at)| {
            (state, Some(at))
        });
        Ok(PullRequestFacts {
            pull_request: PullRequest {
                repository: repository.clone(),
                number,
                state,
                title: "Fix".into(),
                description: String::new(),
                head_branch: "fix".into(),
                head: Commit::parse(&"a".repeat(40)),
                base_branch: "main".into(),
            },
            url: self.host.pull_request_url(repository, number),
            is_draft: false,
            author: "ann".into(),
            is_own: false,
            head_repository: Some(repository.clone()),
            changed_files: 1,
            additions: 1,
            deletions: 0,
            opened_at: 0,
            closed_at: ended_at,
            merged_at: ended_at.filter(|_| state == PullRequestState::Merged),
        })
    }

    async fn pull_request_of_branch(
        &self,
        _repository: &RepoSlug,
        _branch: &RefName,
    ) -> Result<Option<PullRequestHit>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn open_pull_request(
        &self,
        _repository: &RepoSlug,
        _request: &NewPullRequest,
    ) -> Result<PullRequestHit, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn edit_pull_request(
        &self,
        _repository: &RepoSlug,
        _number: u64,
        _text: &PullRequestText,
    ) -> Result<PullRequestHit, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn changed_files(
        &self,
        _repository: &RepoSlug,
        _number: u64,
    ) -> Result<ChangedFiles, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn unified_diff(
        &self,
        _repository: &RepoSlug,
        _number: u64,
        _max_bytes: usize,
    ) -> Result<BoundedText, CodeHostError> {
        let text = self
            .diff
            .lock()
            .unwrap()
            .clone()
            .ok_or(CodeHostError::Unreachable)?;
        Ok(BoundedText {
            text,
            truncated: false,
        })
    }

    async fn reviews(
        &self,
        _repository: &RepoSlug,
        _number: u64,
    ) -> Result<Vec<OwnReview>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn submit_review(
        &self,
        _repository: &RepoSlug,
        _number: u64,
        _submission: &Submission,
    ) -> Result<PostedReview, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn review_threads(
        &self,
        _repository: &RepoSlug,
        _number: u64,
    ) -> Result<Listed<ReviewThread>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn review_discussion(
        &self,
        _repository: &RepoSlug,
        _number: u64,
    ) -> Result<Listed<ReviewThread>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn resolve_thread(
        &self,
        _repository: &RepoSlug,
        _thread: &str,
    ) -> Result<(), CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn put_check_run(
        &self,
        _repository: &RepoSlug,
        _check: &CheckRun,
    ) -> Result<(), CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn checks(
        &self,
        _repository: &RepoSlug,
        _commit: &Commit,
    ) -> Result<Listed<CheckEntry>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn log_tail(
        &self,
        _repository: &RepoSlug,
        _check: u64,
    ) -> Result<Option<LogTail>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn issue(&self, _repository: &RepoSlug, _number: u64) -> Result<Issue, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn search_issues(
        &self,
        _repository: &RepoSlug,
        _query: &str,
    ) -> Result<Listed<Issue>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn edit_issue(
        &self,
        _repository: &RepoSlug,
        _number: u64,
        _edit: &IssueEdit,
    ) -> Result<Issue, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn comments(
        &self,
        _repository: &RepoSlug,
        _number: u64,
    ) -> Result<Listed<Comment>, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn comment(
        &self,
        _repository: &RepoSlug,
        _number: u64,
        _body: &str,
    ) -> Result<Comment, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }

    async fn edit_comment(
        &self,
        _repository: &RepoSlug,
        _comment: u64,
        _body: &str,
    ) -> Result<Comment, CodeHostError> {
        Err(CodeHostError::Unreachable)
    }
}
