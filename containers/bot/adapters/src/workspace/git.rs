//! Git as the service calls it: the git program with the service's arguments.
//!
//! The calls name the repository explicitly (no search upwards), read no user or machine
//! configuration, run no hook, monitor or credential helper, use only the given transports, and
//! cannot wait at a prompt. A filter that an agent's command wrote into `.git/config` still runs
//! when an agent's call compares files. It runs in that command's sandbox, without network. The
//! diff for people runs none (`diff`).

use std::{ffi::OsStr, fs, io, path::Path, process::Command, sync::Arc, time::Duration};

use ars_bot_ports::WorkspaceError;
use tokio_util::sync::CancellationToken;

use super::{
    capture::Capture, credentials::Credentials, process, programs::Programs, programs::Script,
    rights, start::Program,
};
use crate::{logins::without_userinfo, sandbox::RunGroup};

/// Settings before every subcommand.
const SAFE_SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    // File names are shown as people write them.
    "core.quotePath=false",
    "core.sshCommand=ssh -o BatchMode=yes",
    "credential.helper=",
    // An origin that was checked must not lead to another host.
    "http.followRedirects=false",
    "advice.detachedHead=false",
    "gc.auto=0",
    "maintenance.auto=false",
];
/// The transport for calls that need none; no transport has this name.
pub(super) const NO_TRANSPORT: &str = "none";
/// Timeout for a clone.
pub(super) const CLONE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Timeout for any other call.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum bytes kept from git's standard error.
const WORDS_LIMIT: usize = 8 << 10;
/// Git output lines that an error quotes.
const QUOTED_LINES: usize = 4;
/// Ends a line about a file or folder that git may not read.
const DENIED: &str = ": Permission denied";
/// Prefix on a line from the other side.
const REMOTE_MARK: &str = "remote: ";
/// Maximum characters in them.
const QUOTED_CHARS: usize = 600;

/// Git in a single workspace's folder.
pub(super) struct Git<'a> {
    pub(super) programs: &'a Programs,
    /// The folder that holds `tree`.
    pub(super) place: &'a Path,
    /// Cancels a git call.
    pub(super) cancel: &'a CancellationToken,
    /// The run's control group.
    pub(super) group: Option<&'a Arc<RunGroup>>,
}

/// A single call's limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct GitLimits {
    pub(super) time: Duration,
    /// Output bytes kept, from the start.
    pub(super) output: usize,
}

/// Limits for calls that return at most a line.
pub(super) const SHORT: GitLimits = GitLimits {
    time: CALL_TIMEOUT,
    output: 64 << 10,
};

/// Limits for listing the index.
pub(super) const INDEX: GitLimits = GitLimits {
    time: CALL_TIMEOUT,
    output: 64 << 20,
};

/// Result that a call returns.
pub(super) struct GitOutput {
    pub(super) exit_code: i32,
    pub(super) output: Vec<u8>,
    /// Output bytes beyond the limit.
    pub(super) dropped: u64,
    timed_out: bool,
    errors: String,
}

impl Git<'_> {
    /// Returns a call outside any repository, in the workspace's folder, with these transports.
    pub(super) fn outside<S: AsRef<OsStr>>(&self, transports: &str, arguments: &[S]) -> Program {
        let mut program = self.programs.git_outside(self.place);
        prepare(&mut program.command, transports);
        program.command.args(arguments).current_dir(self.place);
        program
    }

    /// Returns a call in the tree.
    pub(super) fn inside<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Program {
        self.in_tree(
            self.programs.git_inside(self.place, None),
            &self.place.join("tree/.git"),
            arguments,
        )
    }

    /// Returns a call in the tree with another repository's settings and index.
    pub(super) fn with_repository<S: AsRef<OsStr>>(
        &self,
        repository: &Path,
        arguments: &[S],
    ) -> Program {
        self.in_tree(
            self.programs.git_inside(self.place, Some(repository)),
            repository,
            arguments,
        )
    }

    /// Returns a call over a network, with another repository's settings and the tree's objects. It
    /// can read only the workspace's folders, so the tree cannot name others' files as its objects.
    pub(super) fn over_network<S: AsRef<OsStr>>(
        &self,
        repository: &Path,
        transports: &str,
        arguments: &[S],
    ) -> Program {
        let program = self.programs.git_over_network(self.place, repository);
        let mut program = self.with_transports(program, repository, transports, arguments);
        program
            .command
            .env("GIT_OBJECT_DIRECTORY", self.place.join("tree/.git/objects"));
        program
    }

    /// Returns a service script that calls git.
    pub(super) fn script(&self, script: &Script<'_>, arguments: &[&OsStr]) -> Program {
        let mut program = self.programs.script(script, arguments);
        set_environment(&mut program.command, NO_TRANSPORT);
        program
    }

    /// Returns a call with these folders, such as a call in a mirror.
    pub(super) fn apart(
        &self,
        writable: &[&Path],
        readable: &[&Path],
        words: &[&OsStr],
    ) -> Program {
        let mut program = self
            .programs
            .git_apart(writable, readable, self.place, words);
        set_environment(&mut program.command, NO_TRANSPORT);
        program
    }

    fn in_tree<S: AsRef<OsStr>>(
        &self,
        program: Program,
        repository: &Path,
        arguments: &[S],
    ) -> Program {
        self.with_transports(program, repository, NO_TRANSPORT, arguments)
    }

    fn with_transports<S: AsRef<OsStr>>(
        &self,
        mut program: Program,
        repository: &Path,
        transports: &str,
        arguments: &[S],
    ) -> Program {
        let tree = self.place.join("tree");
        let command = &mut program.command;
        prepare(command, transports);
        command
            .arg("--git-dir")
            .arg(repository)
            .arg("--work-tree")
            .arg(&tree);
        command
            .arg("--literal-pathspecs")
            .args(arguments)
            .current_dir(tree);
        program
    }

    /// Runs a call; a non-zero exit is an answer, not an error.
    pub(super) async fn run(
        &self,
        program: Program,
        limits: GitLimits,
    ) -> Result<GitOutput, WorkspaceError> {
        self.run_with(program, None, limits).await
    }

    /// Runs a call that reads all files in the tree. Git skips folders that it may not read. If
    /// there are any, the owner's rights in the tree are restored, and the call runs again.
    pub(super) async fn run_on_all(
        &self,
        call: impl Fn() -> Program,
        limits: GitLimits,
    ) -> Result<GitOutput, WorkspaceError> {
        let answer = self.run(call(), limits).await?;
        if !answer.is_denied() {
            return Ok(answer);
        }
        rights::restore(self.programs, self.place).await?;
        self.run(call(), limits).await
    }

    /// Runs a call that may request these credentials.
    pub(super) async fn run_with(
        &self,
        mut program: Program,
        credentials: Option<&Credentials>,
        limits: GitLimits,
    ) -> Result<GitOutput, WorkspaceError> {
        // Git in a tree runs programs that the tree's configuration names.
        program.group = self.group.filter(|_| program.access.is_some()).cloned();
        let mut output = Capture::start(limits.output);
        let mut errors = Capture::both_ends(WORDS_LIMIT);
        let ended = process::run(
            program,
            credentials,
            limits.time,
            &mut output,
            Some(&mut errors),
            self.cancel,
        )
        .await?;
        Ok(GitOutput {
            exit_code: ended.exit_code,
            dropped: output.dropped(),
            output: output.into_start(),
            timed_out: ended.timed_out,
            errors: errors.into_text().0,
        })
    }

    /// Returns the tree's current commit; `None` before a first commit, and without a usable repository.
    pub(super) async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        let command = self.inside(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let answer = self.run(command, SHORT).await?;
        Ok((answer.exit_code == 0)
            .then(|| String::from_utf8_lossy(&answer.output).trim().to_owned()))
    }
}

/// Makes an empty repository without settings.
pub(super) fn make_bare(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder.join("objects"))?;
    fs::create_dir(folder.join("refs"))?;
    fs::write(folder.join("HEAD"), "ref: refs/heads/none\n")
}

/// Adds the settings and environment for every call.
fn prepare(command: &mut Command, transports: &str) {
    set_environment(command, transports);
    for setting in SAFE_SETTINGS {
        command.arg("-c").arg(setting);
    }
}

fn set_environment(command: &mut Command, transports: &str) {
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ALLOW_PROTOCOL", transports)
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0");
}

impl GitOutput {
    /// Returns the output from a call that must succeed.
    pub(super) fn succeeded(self) -> Result<Self, WorkspaceError> {
        if self.exit_code == 0 {
            return Ok(self);
        }
        Err(WorkspaceError::Infra(format!("git: {}", self.own_words())))
    }

    /// Returns whether git may not read a file or folder.
    pub(super) fn is_denied(&self) -> bool {
        self.errors.lines().any(|line| line.ends_with(DENIED))
    }

    /// Returns git's last lines: bounded, on a single line, without credentials in URLs.
    pub(super) fn own_words(&self) -> String {
        let lines = self.lines();
        self.quoted(&lines[lines.len().saturating_sub(QUOTED_LINES)..])
    }

    /// Returns the other side's first lines in the same form, or git's own if it sent none.
    pub(super) fn remote_words(&self) -> String {
        let from_remote = |line: &&str| line.starts_with(REMOTE_MARK);
        let lines: Vec<_> = self
            .lines()
            .into_iter()
            .filter(from_remote)
            .take(QUOTED_LINES)
            .collect();
        if lines.is_empty() {
            self.own_words()
        } else {
            self.quoted(&lines)
        }
    }

    fn lines(&self) -> Vec<&str> {
        self.errors
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect()
    }

    fn quoted(&self, lines: &[&str]) -> String {
        if self.timed_out {
            return "it took too long".into();
        }
        let words = without_userinfo(&lines.join(" "));
        words
            .chars()
            .filter(|letter| !letter.is_control())
            .take(QUOTED_CHARS)
            .collect()
    }
}

/// Returns the transports for cloning this origin, parsed as git does.
pub(super) fn transports_of(origin: &str) -> &'static str {
    match origin.split_once("://") {
        Some(("http", _)) => "http",
        Some(("https", _)) => "https",
        Some(("ssh", _)) => "ssh",
        Some(("git", _)) => "git",
        Some(("file", _)) => "file",
        // `helper::address` would run a program with that name.
        Some(_) => NO_TRANSPORT,
        None if origin.contains("::") => NO_TRANSPORT,
        // `host:path`: a colon before any slash.
        None if origin
            .split('/')
            .next()
            .is_some_and(|start| start.contains(':')) =>
        {
            "ssh"
        }
        None => "file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_may_only_use_its_own_transport() {
        for (origin, transports) in [
            ("https://host/x", "https"),
            ("http://host/x", "http"),
            ("ssh://git@host/x", "ssh"),
            ("git@host:x", "ssh"),
            ("file:///srv/x", "file"),
            ("/srv/x", "file"),
            ("./a:b", "file"),
            ("ext::sh -c true", NO_TRANSPORT),
            ("ext::sh -c true https://host/", NO_TRANSPORT),
            ("fd::7", NO_TRANSPORT),
            ("ftp://host/x", NO_TRANSPORT),
        ] {
            assert_eq!(transports_of(origin), transports, "{origin}");
        }
    }

    #[test]
    fn git_output_is_quoted_on_one_line() {
        let errors = format!(
            "first\n\u{1b}[31mfatal: 'https://u:p@h/x'\n{}\n",
            "x".repeat(5_000)
        );
        let answer = GitOutput {
            exit_code: 1,
            output: Vec::new(),
            dropped: 0,
            timed_out: false,
            errors,
        };
        let words = answer.own_words();
        assert!(
            words.contains("fatal: 'https://h/x'") && !words.contains('\u{1b}'),
            "{words}"
        );
        assert_eq!(words.chars().count(), QUOTED_CHARS);
    }
}
