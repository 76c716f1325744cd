//! Pushes and fetches for a tree.
//!
//! Git works with the tree's objects, and with the service's settings and address: a tree's setting
//! could send the credential elsewhere, or run a program that reads it. Only service branches are
//! pushed to.

use std::{io, sync::Arc, time::Duration};

use ars_bot_ports::{CodeHost, PUSHED_REFS, PushOutcome, WorkspaceError, code_host::GitAccess};
use ars_codehost::{diff::Commit, run_of_branch};
use ars_types::RefName;

use super::{
    git::{Git, GitLimits, GitOutput, SHORT, make_bare, transports_of},
    host_access::OriginAccess,
};
use crate::logins::without_userinfo;

/// Prefix for the settings repository's name, in the workspace's folder.
const PREFIX: &str = ".remote-";
/// Timeout for a push or fetch.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(3 * 60);

/// A tree with the origin.
pub(super) struct Remote<'a> {
    pub(super) git: Git<'a>,
    /// The configured address, or the clone's without credentials.
    pub(super) origin: &'a str,
    pub(super) code_host: Option<&'a Arc<dyn CodeHost>>,
}

impl Remote<'_> {
    /// Pushes a commit. An update that is no fast-forward is rejected.
    pub(super) async fn push(
        &self,
        commit: &Commit,
        branch: &RefName,
    ) -> Result<PushOutcome, WorkspaceError> {
        if run_of_branch(branch.as_str()).is_none() {
            return Err(WorkspaceError::Refused(format!(
                "{branch} is no branch of the service"
            )));
        }
        let address = without_userinfo(self.origin);
        let refs = format!("{commit}:refs/heads/{branch}");
        let options = [
            "push",
            "--quiet",
            "--no-follow-tags",
            "--recurse-submodules=no",
            "--end-of-options",
        ];
        let arguments = [&options[..], &[&address, &refs]].concat();
        let (answer, words) = self.call(GitAccess::Write, &arguments).await?;
        if answer.exit_code != 0 {
            return Ok(PushOutcome::Rejected(words));
        }
        // Not below `refs/remotes`, because a thread's tree with commits is not evicted.
        self.note_fetched(&format!("{PUSHED_REFS}{branch}"), commit)
            .await?;
        Ok(PushOutcome::Pushed)
    }

    /// Fetches a pull request's head and checks it out, without a branch.
    pub(super) async fn check_out(
        &self,
        number: u64,
        commit: &Commit,
        base: Option<&str>,
    ) -> Result<(), WorkspaceError> {
        let address = without_userinfo(self.origin);
        let head = format!("refs/pull/{number}/head");
        // Commits that the tree has are not sent again.
        let known = base.map(|base| format!("--negotiation-tip={base}"));
        let options = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
        ];
        let arguments: Vec<&str> = options
            .into_iter()
            .chain(known.as_deref())
            .chain(["--end-of-options", &address, &head])
            .collect();
        let (answer, words) = self.call(GitAccess::Read, &arguments).await?;
        if answer.exit_code != 0 {
            return Err(WorkspaceError::Clone(format!(
                "pull request #{number} could not be fetched: {words}"
            )));
        }
        self.note_fetched(&format!("refs/remotes/origin/pull/{number}"), commit)
            .await?;
        let checkout = self
            .git
            .inside(&["checkout", "--quiet", "--detach", commit.as_str(), "--"]);
        let answer = self
            .git
            .run(
                checkout,
                GitLimits {
                    time: REMOTE_TIMEOUT,
                    ..SHORT
                },
            )
            .await?;
        if answer.exit_code != 0 {
            let words = answer.own_words();
            return Err(WorkspaceError::Clone(format!(
                "{commit} could not be checked out: {words}"
            )));
        }
        Ok(())
    }

    /// Notes that the origin has a commit.
    async fn note_fetched(&self, name: &str, commit: &Commit) -> Result<(), WorkspaceError> {
        let noted = self.git.inside(&["update-ref", name, commit.as_str()]);
        match self.git.run(noted, SHORT).await?.succeeded() {
            Ok(_) => Ok(()),
            Err(_) => Err(WorkspaceError::Clone(format!(
                "the origin has {commit} no more"
            ))),
        }
    }

    /// Runs a call with a credential, and once more with a fresh credential if the host rejects it.
    /// Returns the result, and git's words without the credential.
    async fn call(
        &self,
        kind: GitAccess,
        arguments: &[&str],
    ) -> Result<(GitOutput, String), WorkspaceError> {
        let mut access = OriginAccess::new(self.origin, self.code_host, kind).await?;
        let mut answer = self.call_with(&access, arguments).await?;
        if answer.exit_code != 0 && access.is_rejected(&answer.own_words(), self.code_host) {
            access = OriginAccess::new(self.origin, self.code_host, kind).await?;
            answer = self.call_with(&access, arguments).await?;
        }
        let words = access.explain(answer.remote_words());
        Ok((answer, words))
    }

    async fn call_with(
        &self,
        access: &OriginAccess,
        arguments: &[&str],
    ) -> Result<GitOutput, WorkspaceError> {
        let failed = |error: io::Error| WorkspaceError::Infra(format!("temporary folder: {error}"));
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(self.git.place)
            .map_err(failed)?;
        make_bare(folder.path()).map_err(failed)?;
        let credentials = access.credentials.as_ref();
        let setting = credentials
            .iter()
            .flat_map(|found| ["-c".to_owned(), found.setting()]);
        let words: Vec<String> = setting
            .chain(arguments.iter().map(|word| (*word).to_owned()))
            .collect();
        let program = self
            .git
            .over_network(folder.path(), transports_of(self.origin), &words);
        self.git
            .run_with(
                program,
                credentials,
                GitLimits {
                    time: REMOTE_TIMEOUT,
                    ..SHORT
                },
            )
            .await
    }
}
