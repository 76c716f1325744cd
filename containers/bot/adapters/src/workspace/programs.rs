//! The programs that a workspace starts: the service's git, and commands in the sandbox.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use ars_types::{SandboxKind, SandboxNetwork};

use super::{
    environment::{ChildEnvironment, FOLDERS, TEMPORARY},
    session::SessionSettings,
    start,
    start::Program,
};
use crate::{
    egress::{Gate, GateKind},
    sandbox::{Access, Reach, RunGroup, Sandbox, TRUSTED_PATH, trusted},
    upstream::UpstreamProxy,
};

/// A service shell script, with folders.
pub(super) struct Script<'a> {
    /// The script's constant text.
    pub(super) text: &'a str,
    /// Name shown in errors.
    pub(super) name: &'a str,
    /// The temporary folder, in or above which the script writes.
    pub(super) folder: &'a Path,
    /// Folders that it may change.
    pub(super) writable: &'a [&'a Path],
    /// Folders that it may read.
    pub(super) readable: &'a [&'a Path],
}

/// Programs that all workspaces use.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) environment: ChildEnvironment,
    pub(super) sandbox: Arc<Sandbox>,
    /// The proxy in the service's own network.
    pub(super) upstream: Arc<UpstreamProxy>,
    git: PathBuf,
}

impl Programs {
    /// Returns the programs, or why this machine cannot have workspaces, such as a container without tools.
    pub(super) fn find(
        environment: ChildEnvironment,
        upstream: Arc<UpstreamProxy>,
        sandbox: impl FnOnce() -> Result<Sandbox, String>,
    ) -> Result<Self, String> {
        let git = trusted("git");
        let needs = [
            ("git", git.is_some()),
            ("shell (/bin/sh)", Path::new(start::SHELL).exists()),
        ];
        let missing: Vec<_> = needs
            .into_iter()
            .filter(|(_, is_there)| !is_there)
            .map(|(name, _)| name)
            .collect();
        match git.filter(|_| missing.is_empty()) {
            Some(git) => Ok(Self {
                environment,
                sandbox: Arc::new(sandbox()?),
                upstream,
                git,
            }),
            None => {
                let missing = missing.join(" and no ");
                Err(format!(
                    "this installation works on no repository: it has no {missing} in {TRUSTED_PATH}"
                ))
            }
        }
    }

    /// Returns how commands reach a proxy, or `None` if they have none.
    pub(super) fn gate(&self) -> Option<GateKind> {
        match (self.sandbox.network(), self.sandbox.kind()) {
            (SandboxNetwork::Proxy, SandboxKind::Bubblewrap) => Some(GateKind::Namespace),
            (SandboxNetwork::Proxy, _) => Some(GateKind::Port),
            (SandboxNetwork::Open | SandboxNetwork::None, _) => None,
        }
    }

    /// Returns an agent's command. `place` is the workspace's own folder, `gate` the command's
    /// proxy.
    pub(super) fn of_agent(&self, program: &str, place: &Path, gate: Option<&Gate>) -> Program {
        let reach = Reach::new(gate, self.sandbox.network(), true);
        let mut program = self.confined(program.as_ref(), place, reach, None);
        program
            .command
            .envs(gate.into_iter().flat_map(Gate::variables));
        program
    }

    /// Returns the session settings for a workspace.
    pub(super) fn session(&self, place: &Path, group: Option<Arc<RunGroup>>) -> SessionSettings {
        let access = Access {
            writable: FOLDERS.map(|name| place.join(name)).into(),
            readable: Vec::new(),
            temporary: place.join(TEMPORARY),
            reach: Reach::Nothing,
            entry: None,
            is_of_service: false,
        };
        SessionSettings {
            sandbox: Arc::clone(&self.sandbox),
            gate: self.gate(),
            access,
            group,
        }
    }

    /// Returns an agent's command that a session starts.
    pub(super) fn in_session(&self, program: &str, place: &Path, gate: Option<&Gate>) -> Command {
        let mut command = Command::new(program);
        self.environment.set(&mut command, place);
        command.envs(gate.into_iter().flat_map(Gate::variables));
        command
    }

    /// Returns git as the service calls it in a tree, confined. The tree's configuration may name
    /// programs. `index` is another folder that it may change.
    pub(super) fn git_inside(&self, place: &Path, index: Option<&Path>) -> Program {
        let mut program = self.confined(self.git.as_os_str(), place, Reach::Nothing, index);
        program.command.env("PATH", TRUSTED_PATH);
        program
    }

    /// Returns git with a network, confined to a workspace and another folder. The settings must be
    /// the service's, because a setting can redirect a credential.
    pub(super) fn git_over_network(&self, place: &Path, repository: &Path) -> Program {
        let mut program = self.confined(
            self.git.as_os_str(),
            place,
            Reach::Machine,
            Some(repository),
        );
        program
            .command
            .env("PATH", TRUSTED_PATH)
            .envs(self.upstream.variables());
        program
    }

    /// Returns a machine program that may change a workspace's folder and has no network. `None` if
    /// the machine does not have it.
    pub(super) fn tool_inside(&self, program: &str, place: &Path) -> Option<Program> {
        let mut program = self.confined(
            trusted(program)?.as_os_str(),
            place,
            Reach::Nothing,
            Some(place),
        );
        program.command.env("PATH", TRUSTED_PATH);
        Some(program)
    }

    /// Returns a service script, confined to the script's folders. The first argument is git.
    pub(super) fn script(&self, script: &Script<'_>, arguments: &[&OsStr]) -> Program {
        let words = ["-c", script.text, script.name].map(OsStr::new);
        let words = [&words[..], &[self.git.as_os_str()], arguments].concat();
        self.apart(
            start::SHELL.as_ref(),
            script.writable,
            script.readable,
            script.folder,
            &words,
        )
    }

    /// Returns git with these folders instead of a workspace's.
    pub(super) fn git_apart(
        &self,
        writable: &[&Path],
        readable: &[&Path],
        place: &Path,
        words: &[&OsStr],
    ) -> Program {
        self.apart(self.git.as_os_str(), writable, readable, place, words)
    }

    fn apart(
        &self,
        program: &OsStr,
        writable: &[&Path],
        readable: &[&Path],
        place: &Path,
        arguments: &[&OsStr],
    ) -> Program {
        let owned = |folders: &[&Path]| {
            folders
                .iter()
                .map(|folder| folder.to_path_buf())
                .collect::<Vec<_>>()
        };
        let temporary = writable
            .first()
            .map_or_else(|| place.to_path_buf(), |folder| folder.to_path_buf());
        let (writable, readable) = (owned(writable), owned(readable));
        let access = Access {
            writable,
            readable,
            temporary,
            reach: Reach::Nothing,
            entry: None,
            is_of_service: true,
        };
        let mut words: Vec<OsString> = self.sandbox.arguments(&access);
        words.push(program.to_owned());
        let mut command = start::command(&words);
        self.environment.set(&mut command, place);
        command
            .env("PATH", TRUSTED_PATH)
            .env("TMPDIR", &access.temporary)
            .args(arguments);
        Program {
            command,
            access: Some(access),
            sandbox: Arc::clone(&self.sandbox),
            group: None,
        }
    }

    /// Returns git as called outside any tree, where only the service's arguments count.
    pub(super) fn git_outside(&self, place: &Path) -> Program {
        let mut command = start::command(&[self.git.clone().into_os_string()]);
        self.environment.set(&mut command, place);
        command
            .env("PATH", TRUSTED_PATH)
            .envs(self.upstream.variables());
        Program {
            command,
            access: None,
            sandbox: Arc::clone(&self.sandbox),
            group: None,
        }
    }

    fn confined(
        &self,
        program: &OsStr,
        place: &Path,
        reach: Reach,
        more: Option<&Path>,
    ) -> Program {
        let own = FOLDERS.map(|name| place.join(name));
        let access = Access {
            writable: own.into_iter().chain(more.map(Path::to_path_buf)).collect(),
            readable: Vec::new(),
            temporary: place.join(TEMPORARY),
            reach,
            entry: None,
            is_of_service: false,
        };
        let mut words: Vec<OsString> = self.sandbox.arguments(&access);
        words.push(program.to_owned());
        let mut command = start::command(&words);
        self.environment.set(&mut command, place);
        Program {
            command,
            access: Some(access),
            sandbox: Arc::clone(&self.sandbox),
            group: None,
        }
    }
}
