//! One thread's working tree on the local disk.

use std::{path::PathBuf, process::Command, sync::Arc};

use ars_bot_core::ports::{Entry, ExecOutcome, ExecRequest, SearchHit, Workspace, WorkspaceError};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::{
    environment::ChildEnvironment,
    files::Files,
    git::{CALL_TIMEOUT, DATA_LIMIT, Git, own_words, succeeded},
    process, search,
};

/// Git's name for a tree without files.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// Most bytes of a diff.
const DIFF_LIMIT: usize = 1 << 20;

/// The tree, the home of its commands, and what it began as.
pub(super) struct LocalWorkspace {
    pub(super) environment: Arc<ChildEnvironment>,
    pub(super) tree: PathBuf,
    pub(super) home: PathBuf,
    pub(super) files: Arc<Files>,
    pub(super) repository: Option<String>,
    pub(super) base: Option<String>,
}

impl LocalWorkspace {
    fn git(&self) -> Git<'_> {
        Git { environment: &self.environment, home: &self.home, directory: &self.tree }
    }

    /// Git's names below a path, sorted.
    async fn names(&self, path: &str) -> Result<Vec<String>, WorkspaceError> {
        let relative = self.files.relative(path)?;
        let mut arguments = vec!["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--"];
        let text = relative.to_string_lossy();
        if text != "." {
            arguments.push(&text);
        }
        let outcome = self.git().call(&arguments, CALL_TIMEOUT, &CancellationToken::new()).await?;
        if outcome.exit_code != 0 && outcome.output.contains("outside repository") {
            return Err(WorkspaceError::PathEscape(path.to_owned()));
        }
        let output = succeeded(outcome)?;
        let mut names: Vec<String> =
            output.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Files) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let files = Arc::clone(&self.files);
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        done.unwrap_or_else(|_| Err(WorkspaceError::Infra("a file operation broke off".into())))
    }
}

#[async_trait]
impl Workspace for LocalWorkspace {
    fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        let arguments = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let outcome = self.git().call(&arguments, CALL_TIMEOUT, &CancellationToken::new()).await?;
        Ok((outcome.exit_code == 0).then(|| outcome.output.trim().to_owned()))
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        // An index of its own: the agent's staged changes stay as they are.
        let folder = tempfile::tempdir()
            .map_err(|error| WorkspaceError::Infra(format!("temporary folder: {error}")))?;
        let index = folder.path().join("index");
        let base = self.base.as_deref().unwrap_or(EMPTY_TREE);
        let steps: [&[&str]; 3] = [
            &["read-tree", base],
            &["add", "--all"],
            &["diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", base],
        ];
        let mut output = String::new();
        for arguments in steps {
            let mut command = self.git().command(arguments);
            command.env("GIT_INDEX_FILE", &index);
            let outcome =
                process::run(command, CALL_TIMEOUT, DIFF_LIMIT.min(DATA_LIMIT), &CancellationToken::new())
                    .await?;
            if outcome.exit_code != 0 {
                return Err(WorkspaceError::Infra(format!("git: {}", own_words(&outcome))));
            }
            output = outcome.output;
        }
        Ok(output)
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        let mut command = Command::new("bash");
        self.environment.apply(&mut command, &self.home);
        command.arg("-c").arg(request.command).current_dir(&self.tree);
        process::run(command, request.timeout, request.output_limit, cancel).await
    }

    async fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        let path = path.to_owned();
        self.blocking(move |files| files.read(&path, limit)).await
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        let (path, content) = (path.to_owned(), content.to_vec());
        self.blocking(move |files| files.write(&path, &content)).await
    }

    async fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        let names = self.names(path).await?;
        self.blocking(move |files| Ok(search::list(files, &names, limit))).await
    }

    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        let names = self.names(path).await?;
        let pattern = pattern.to_owned();
        self.blocking(move |files| search::search(files, &names, &pattern, limit)).await
    }
}
