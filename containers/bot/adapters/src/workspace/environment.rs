//! Child process environment, built from scratch so that it has no secret of the service.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use ars_sandboxd::READABLE_NAMES;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Variables that are inherited: tool locations, never credentials.
const HANDED_ON: &[&str] = &[
    "PATH",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "JAVA_HOME",
    "GOROOT",
    "PYENV_ROOT",
    "TZ",
];
/// The PATH when the service has none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Temporary folder in a workspace's folder.
pub(super) const TEMPORARY: &str = "tmp";
/// Folders in a workspace's folder that its commands may change.
pub(super) const FOLDERS: [&str; 3] = ["tree", "home", TEMPORARY];

/// Environment for child processes.
#[derive(Debug, Clone)]
pub struct ChildEnvironment {
    variables: Vec<(OsString, OsString)>,
    service_home: Option<PathBuf>,
}

impl ChildEnvironment {
    /// Selects from the service's environment, which the composition root passes in.
    pub fn from_service(own: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut variables: Vec<(OsString, OsString)> = HANDED_ON
            .iter()
            .filter_map(|name| Some((OsString::from(name), own(name)?)))
            .collect();
        if own("PATH").is_none() {
            variables.push(("PATH".into(), DEFAULT_PATH.into()));
        }
        // The workspace has its own HOME, where a toolchain manager would not find its toolchains.
        if let (None, Some(home)) = (own("RUSTUP_HOME"), own("HOME")) {
            let rustup = Path::new(&home).join(".rustup");
            if rustup.is_dir() {
                variables.push(("RUSTUP_HOME".into(), rustup.into_os_string()));
            }
        }
        let fixed = [
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Agent Request Service"),
            ("GIT_AUTHOR_EMAIL", "agent@localhost"),
            ("GIT_COMMITTER_NAME", "Agent Request Service"),
            ("GIT_COMMITTER_EMAIL", "agent@localhost"),
        ];
        let fixed = fixed.into_iter().chain(READABLE_NAMES);
        variables.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        Self {
            variables,
            service_home: own("HOME").map(PathBuf::from),
        }
    }

    /// Returns the environment variables.
    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Returns the home directory of the service's user, which commands do not see.
    pub(super) fn service_home(&self) -> Option<&Path> {
        self.service_home.as_deref()
    }

    /// Gives a command exactly this environment. `place` is the workspace's own folder.
    pub(super) fn set(&self, command: &mut Command, place: &Path) {
        command
            .env_clear()
            .envs(self.variables.iter().cloned())
            .env("HOME", place.join("home"))
            .env("TMPDIR", place.join(TEMPORARY))
            // Without its `.git`, the tree must not be mistaken for part of a repository further
            // up.
            .env("GIT_CEILING_DIRECTORIES", place);
    }
}

/// Hides this process's `/proc` entries from other processes of its user, above all the
/// environment. Commands run as the same user, but without root's capability to trace every process
/// (`start`).
///
/// # Errors
/// Returns why no command may run: it could read this process's environment.
pub(super) fn conceal_this_process() -> Result<(), String> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| {
        format!("commands could read the environment of this process (PR_SET_DUMPABLE: {error})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_handed_on() {
        let own = |name: &str| Some(OsString::from(format!("value of {name}")));
        let names: Vec<_> = ChildEnvironment::from_service(own)
            .variables
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert!(names.contains(&"PATH".into()));
        assert!(
            !names
                .iter()
                .any(|name| name.to_string_lossy().contains("TOKEN"))
        );
        assert!(!names.contains(&"ANTHROPIC_API_KEY".into()));
    }

    #[test]
    fn a_concealed_process_stays_so() {
        conceal_this_process().unwrap();
        assert_eq!(
            rustix::process::dumpable_behavior().ok(),
            Some(DumpableBehavior::NotDumpable)
        );
    }
}
