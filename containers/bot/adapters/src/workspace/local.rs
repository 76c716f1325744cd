//! A thread's working tree on the local disk.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use ars_bot_ports::{
    Checkpoint, CodeHost, Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, Placement,
    PushOutcome, SearchHit, Workspace, WorkspaceError,
};
use ars_codehost::diff::Commit;
use ars_resident::plan::shell_words;
use ars_types::{RefName, RunId};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::{
    capture::Capture,
    checkpoint::{LastSaved, Mirror, Saving},
    diff,
    files::Files,
    git::{CALL_TIMEOUT, Git, GitLimits},
    in_use::InUse,
    meta::Meta,
    names,
    names::Names,
    process,
    programs::Programs,
    remote::Remote,
    rights, search,
    session::{Lent, Session},
};
use crate::{
    egress::{Gate, RunEgress},
    sandbox::RunGroup,
};

/// Shell that runs commands.
const SHELL: &str = "bash";
/// The answer when the rights in a tree cannot be restored.
const UNUSABLE: &str =
    "the owner has no rights in the folder of the tree or of git, and they cannot be given back";

/// A tree, the commands' home, and the origin.
pub(super) struct LocalWorkspace {
    pub(super) programs: Arc<Programs>,
    /// The folder that holds `tree` and `home`.
    pub(super) place: PathBuf,
    pub(super) files: Arc<Files>,
    pub(super) repository: Option<String>,
    pub(super) base: Option<String>,
    /// The tree's last checkpoint.
    pub(super) saved: tokio::sync::Mutex<LastSaved>,
    /// Name of the checkpoint that the tree was recreated from.
    pub(super) restored_from: Option<String>,
    /// The former tree was evicted.
    pub(super) is_cloned_again: bool,
    /// The clone's address, without credentials.
    pub(super) origin: Option<String>,
    /// The branch that the thread's commits were last pushed to.
    pub(super) branch: Mutex<Option<RefName>>,
    /// Where the metadata is: the data directory and the name in it.
    pub(super) meta: (PathBuf, String),
    pub(super) code_host: Option<Arc<dyn CodeHost>>,
    pub(super) egress: Arc<RunEgress>,
    /// The control group of the run, or the reader, that opened the tree.
    pub(super) group: Option<Arc<RunGroup>>,
    /// The sandbox for the tree's commands.
    pub(super) session: Arc<Session>,
    /// Keeps the tree from being evicted.
    pub(super) in_use: InUse,
    /// Why the tree is here and not on a resident.
    pub(super) note: Option<String>,
}

impl Drop for LocalWorkspace {
    fn drop(&mut self) {
        if let Err(error) = self.in_use.touch() {
            tracing::warn!(%error, "the time of a workspace's last use was not noted");
        }
    }
}

impl LocalWorkspace {
    fn git<'a>(&'a self, cancel: &'a CancellationToken) -> Git<'a> {
        Git {
            programs: &self.programs,
            place: &self.place,
            cancel,
            group: self.group.as_ref(),
        }
    }

    fn remote<'a>(&'a self, cancel: &'a CancellationToken) -> Result<Remote<'a>, WorkspaceError> {
        let origin = self.origin.as_deref();
        let origin =
            origin.ok_or_else(|| WorkspaceError::Refused("this tree has no origin".into()))?;
        Ok(Remote {
            git: self.git(cancel),
            origin,
            code_host: self.code_host.as_ref(),
        })
    }

    /// Returns the names at and below a path that git does not ignore.
    async fn names(
        &self,
        path: &str,
        abandoned: &CancellationToken,
    ) -> Result<Names, WorkspaceError> {
        let path = path.to_owned();
        let within = self.blocking(move |files| files.resolve(&path)).await?;
        let never = CancellationToken::new();
        match names::from_git(&self.git(&never), &within).await? {
            Some(names) => Ok(names),
            None => {
                let abandoned = abandoned.clone();
                self.blocking(move |files| Ok(names::from_walk(files, &within, &abandoned)))
                    .await
            }
        }
    }

    /// Restores the owner's rights in the tree if a command removed them.
    async fn be_usable(&self) -> Result<(), WorkspaceError> {
        if self.files.are_usable() {
            return Ok(());
        }
        rights::restore(&self.programs, &self.place).await?;
        match self.files.are_usable() {
            true => Ok(()),
            false => Err(WorkspaceError::Refused(UNUSABLE.into())),
        }
    }

    /// Runs a command in the run's session. `None` if that ended before the command began.
    async fn run_in(
        &self,
        session: Lent,
        request: ExecRequest<'_>,
        output: &mut Capture,
        cancel: &CancellationToken,
    ) -> Result<Option<process::EndedProgram>, WorkspaceError> {
        let gate = session.gate(&self.egress)?;
        let mut command = self.programs.in_session(SHELL, &self.place, gate.as_ref());
        command
            .args(shell_words(request.command))
            .current_dir(self.place.join("tree"));
        session.run(&command, request.timeout, output, cancel).await
    }

    /// Runs a command in a separate sandbox.
    async fn run_apart(
        &self,
        request: ExecRequest<'_>,
        output: &mut Capture,
        cancel: &CancellationToken,
    ) -> Result<process::EndedProgram, WorkspaceError> {
        let gate = match self.programs.gate() {
            Some(kind) => {
                let opened = Gate::open(&self.egress, kind);
                Some(opened.map_err(|error| process::infra("the egress proxy", &error))?)
            }
            None => None,
        };
        let mut program = self.programs.of_agent(SHELL, &self.place, gate.as_ref());
        program.group.clone_from(&self.group);
        program
            .command
            .args(shell_words(request.command))
            .current_dir(self.place.join("tree"));
        process::run(program, None, request.timeout, output, None, cancel).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Files) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        self.be_usable().await?;
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

    fn is_cloned_again(&self) -> bool {
        self.is_cloned_again
    }

    fn restored_from(&self) -> Option<&str> {
        self.restored_from.as_deref()
    }

    async fn checkpoint(
        &self,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Option<Checkpoint>, WorkspaceError> {
        self.be_usable().await?;
        let mut last = self.saved.lock().await;
        // A checkpoint that fails leaves nothing to start from.
        let kept = last.kept.take();
        let (data, name) = self.meta.clone();
        let mirror = Mirror::for_origin(&data, self.origin.as_deref(), &name);
        let saving = Saving {
            git: self.git(cancel),
            files: &self.files,
            mirror: &mirror,
            run,
            base: self.base.as_deref(),
            last: last.saved.as_ref(),
        };
        let outcome = saving.save(kept).await?;
        last.kept = outcome.kept;
        let Some((saved, is_new)) = outcome.saved else {
            return Ok(None);
        };
        if is_new {
            let noted = saved.clone();
            self.blocking(move |_| Meta::set_checkpoint(&data, &name, noted))
                .await?;
        }
        Ok(Some(last.saved.insert(saved).checkpoint(is_new)))
    }

    fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    fn base(&self) -> Option<String> {
        self.base.clone()
    }

    async fn pushed_branch(&self) -> Option<RefName> {
        self.branch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn push(
        &self,
        commit: &Commit,
        branch: &RefName,
        cancel: &CancellationToken,
    ) -> Result<PushOutcome, WorkspaceError> {
        self.be_usable().await?;
        let pushed = self.remote(cancel)?.push(commit, branch).await?;
        if pushed == PushOutcome::Pushed {
            *self.branch.lock().unwrap_or_else(PoisonError::into_inner) = Some(branch.clone());
            let ((data, name), branch) = (self.meta.clone(), branch.to_string());
            self.blocking(move |_| Meta::set_branch(&data, &name, branch))
                .await?;
        }
        Ok(pushed)
    }

    async fn check_out(
        &self,
        pull_request: u64,
        commit: &Commit,
        cancel: &CancellationToken,
    ) -> Result<(), WorkspaceError> {
        self.be_usable().await?;
        self.remote(cancel)?
            .check_out(pull_request, commit, self.base.as_deref())
            .await
    }

    fn placement(&self) -> Placement {
        Placement::local(self.note.clone())
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        self.be_usable().await?;
        self.git(&CancellationToken::new()).head().await
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        self.be_usable().await?;
        diff::since(&self.git(&CancellationToken::new()), self.base.as_deref()).await
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        self.be_usable().await?;
        let mut output = Capture::both_ends(request.output_limit);
        let lent = tokio::select! {
            lent = self.session.lend() => lent,
            () = cancel.cancelled() => return Err(WorkspaceError::Cancelled),
        };
        let ended = match lent {
            Some(session) => self.run_in(session, request, &mut output, cancel).await?,
            None => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => self.run_apart(request, &mut output, cancel).await?,
        };
        let (output, truncated) = output.into_text();
        let refused = self.egress.take_refused();
        let process::EndedProgram {
            exit_code,
            timed_out,
            reached,
        } = ended;
        Ok(ExecOutcome {
            exit_code,
            output,
            truncated,
            timed_out,
            refused,
            reached,
        })
    }

    async fn git(
        &self,
        request: GitRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        self.be_usable().await?;
        let git = self.git(cancel);
        let limits = GitLimits {
            time: CALL_TIMEOUT,
            output: request.output_limit,
        };
        let answer = git.run(git.inside(request.arguments), limits).await?;
        Ok(GitAnswer {
            exit_code: answer.exit_code,
            truncated: answer.dropped > 0,
            output: answer.output,
        })
    }

    async fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        let path = path.to_owned();
        self.blocking(move |files| files.read(&path, limit)).await
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        let (path, content) = (path.to_owned(), content.to_vec());
        self.blocking(move |files| files.write(&path, &content))
            .await
    }

    async fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        // A caller that stops waiting also stops the worker thread.
        let abandoned = CancellationToken::new();
        let _guard = abandoned.clone().drop_guard();
        let names = self.names(path, &abandoned).await?;
        self.blocking(move |files| Ok(search::list(files, &names, limit, &abandoned)))
            .await
    }

    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        let pattern = search::compile(pattern)?;
        let abandoned = CancellationToken::new();
        let _guard = abandoned.clone().drop_guard();
        let names = self.names(path, &abandoned).await?;
        self.blocking(move |files| Ok(search::search(files, &names, &pattern, limit, &abandoned)))
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn command_of_any_length_runs_as_it_stands() {
        for lines in [1, 8_000, 40_000] {
            let text = "größe 'x' \"$y\"\n".repeat(lines);
            let command = format!("y=1; wc -l <<'END'\n{text}END\necho $# a  b; exit 3");
            let ran = Command::new("bash")
                .args(shell_words(&command))
                .output()
                .unwrap();
            let said = String::from_utf8(ran.stdout).unwrap();
            assert_eq!(said, format!("{lines}\n0 a b\n"));
            assert_eq!(ran.status.code(), Some(3));
        }
    }
}
