//! Git as the service calls it: the git program with an argv of its own making.
//!
//! Nothing a repository carries may run a program during these calls: hooks, file system monitors and helper
//! transports are off, and no prompt can wait for an answer.

use std::{ffi::OsStr, path::Path, process::Command, time::Duration};

use ars_bot_core::ports::{ExecOutcome, WorkspaceError};
use tokio_util::sync::CancellationToken;

use super::{environment::ChildEnvironment, process};

/// Given before every subcommand.
const SAFE_SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "credential.helper=",
    "advice.detachedHead=false",
    "gc.auto=0",
];
/// Longest clone (document 2 section 8, "Object-storage transfer timeout" is the nearest of its kind).
pub(super) const CLONE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Longest of any other call.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Most bytes of output kept of a call that yields data.
pub(super) const DATA_LIMIT: usize = 32 << 20;
/// Lines of git's own words that a refusal quotes.
const QUOTED_LINES: usize = 4;

/// Git in one directory.
pub(super) struct Git<'a> {
    pub(super) environment: &'a ChildEnvironment,
    pub(super) home: &'a Path,
    pub(super) directory: &'a Path,
}

impl Git<'_> {
    /// The command with these arguments, ready to be given more environment.
    pub(super) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new("git");
        self.environment.apply(&mut command, self.home);
        for setting in SAFE_SETTINGS {
            command.arg("-c").arg(setting);
        }
        command.arg("--literal-pathspecs").args(arguments).current_dir(self.directory);
        command
    }

    /// Runs a call; a non-zero exit is an outcome, not an error.
    pub(super) async fn call<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        process::run(self.command(arguments), limit, DATA_LIMIT, cancel).await
    }

    /// Runs a call that must succeed.
    pub(super) async fn must<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, WorkspaceError> {
        let outcome = self.call(arguments, CALL_TIMEOUT, &CancellationToken::new()).await?;
        succeeded(outcome)
    }
}

/// The output of a call that succeeded.
pub(super) fn succeeded(outcome: ExecOutcome) -> Result<String, WorkspaceError> {
    if outcome.exit_code == 0 {
        return Ok(outcome.output);
    }
    Err(WorkspaceError::Infra(format!("git: {}", own_words(&outcome))))
}

/// Git's last words, without what could be a credential in a URL.
pub(super) fn own_words(outcome: &ExecOutcome) -> String {
    if outcome.timed_out {
        return "it took too long".into();
    }
    let lines: Vec<&str> = outcome.output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words = lines[lines.len().saturating_sub(QUOTED_LINES)..].join(" ");
    without_userinfo(&words)
}

/// Cuts `user:password@` out of every URL.
pub(super) fn without_userinfo(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        clean.push_str(before);
        let authority = after.find(|c: char| c == '/' || c == '\'' || c == '"' || c.is_whitespace());
        let authority = &after[..authority.unwrap_or(after.len())];
        rest = match authority.rfind('@') {
            Some(at) => &after[at + 1..],
            None => after,
        };
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::without_userinfo;

    #[test]
    fn credentials_are_cut_out_of_urls() {
        assert_eq!(
            without_userinfo("fatal: repository 'https://u:p@ss@host/x.git/' not found at ssh://git@h"),
            "fatal: repository 'https://host/x.git/' not found at ssh://h"
        );
        assert_eq!(without_userinfo("mail a@b"), "mail a@b");
    }
}
