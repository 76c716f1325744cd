//! The programs that a workspace starts: the service's git, and commands in the sandbox.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    environment::{ChildEnvironment, FOLDERS, TEMPORARY},
    start,
    start::Program,
};
use crate::sandbox::{Access, Network, Sandbox, TRUSTED_PATH, trusted};

/// What every workspace needs to start programs.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) environment: ChildEnvironment,
    pub(super) sandbox: Arc<Sandbox>,
    git: PathBuf,
}

impl Programs {
    /// Returns the programs, or why this machine cannot have workspaces, such as a container without tools.
    pub(super) fn find(
        environment: ChildEnvironment,
        sandbox: impl FnOnce() -> Result<Sandbox, String>,
    ) -> Result<Self, String> {
        let git = trusted("git");
        let needs = [("git", git.is_some()), ("shell (/bin/sh)", Path::new(start::SHELL).exists())];
        let missing: Vec<_> =
            needs.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name).collect();
        match git.filter(|_| missing.is_empty()) {
            Some(git) => Ok(Self { environment, sandbox: Arc::new(sandbox()?), git }),
            None => {
                let missing = missing.join(" and no ");
                Err(format!(
                    "this installation works on no repository: it has no {missing} in {TRUSTED_PATH}"
                ))
            }
        }
    }

    /// Returns a command of an agent. `place` is the workspace's own folder.
    pub(super) fn of_agent(&self, program: &str, place: &Path) -> Program {
        self.confined(program.as_ref(), place, self.sandbox.network(), None)
    }

    /// Returns git as the service calls it in a tree, confined.
    /// The tree's configuration may name programs. `index` is one more folder that it may change.
    pub(super) fn git_inside(&self, place: &Path, index: Option<&Path>) -> Program {
        let mut program = self.confined(self.git.as_os_str(), place, Network::None, index);
        program.command.env("PATH", TRUSTED_PATH);
        program
    }

    /// Returns git as the service calls it outside of any tree, where only the service's arguments count.
    pub(super) fn git_outside(&self, place: &Path) -> Program {
        let mut command = start::command(&[self.git.clone().into_os_string()]);
        self.environment.set(&mut command, place);
        command.env("PATH", TRUSTED_PATH);
        Program { command, access: None, sandbox: Arc::clone(&self.sandbox) }
    }

    fn confined(&self, program: &OsStr, place: &Path, network: Network, more: Option<&Path>) -> Program {
        let own = FOLDERS.map(|name| place.join(name));
        let access = Access {
            writable: own.into_iter().chain(more.map(Path::to_path_buf)).collect(),
            temporary: place.join(TEMPORARY),
            network,
        };
        let mut words: Vec<OsString> = self.sandbox.arguments(&access);
        words.push(program.to_owned());
        let mut command = start::command(&words);
        self.environment.set(&mut command, place);
        Program { command, access: Some(access), sandbox: Arc::clone(&self.sandbox) }
    }
}
