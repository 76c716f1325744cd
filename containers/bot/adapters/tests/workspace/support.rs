//! A folder with an origin and workspaces, and waits for conditions instead of times.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use ars_bot_adapters::{
    sandbox::SandboxSettings,
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_bot_ports::{
    ExecOutcome, ExecRequest, Repository, Workspace, WorkspaceError, WorkspaceProvider,
    WorkspaceRequest,
};
use ars_types::{RefName, SandboxKind, ThreadKey};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A value that must not be in any child process or workspace file.
pub const CANARY: &str = "canary-secret";
/// How long to wait for a condition, after which the test fails.
pub const TIMEOUT: Duration = Duration::from_secs(30);

pub struct World {
    pub folder: TempDir,
    pub provider: GitWorkspaces,
}

pub fn world() -> World {
    let sandbox = SandboxSettings {
        kind: Some(SandboxKind::Landlock),
        ..SandboxSettings::default()
    };
    world_in(sandbox)
}

/// Returns the program that is first in a sandbox: an example in this crate.
fn entry() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let entry = program
        .parent()
        .unwrap()
        .with_file_name("examples/sandbox_entry");
    assert!(
        entry.is_file(),
        "{} is built with the tests",
        entry.display()
    );
    entry
}

/// A world with commands that are confined in this way.
/// Without a kind it does not know the service's program.
pub fn world_in(sandbox: SandboxSettings) -> World {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = SandboxSettings {
        entry: sandbox.kind.map(|_| entry()),
        ..sandbox
    };
    let provider = GitWorkspaces::new(&folder.path().join("data"), environment(), sandbox);
    World { folder, provider }
}

/// A world, and a workspace for the origin.
pub async fn opened() -> (World, Arc<dyn Workspace>) {
    let world = world();
    let workspace = world.open().await;
    (world, workspace)
}

/// A service environment with a secret in every variable except PATH and tool locations.
fn environment() -> ChildEnvironment {
    ChildEnvironment::from_service(|name| match name {
        "PATH" => std::env::var_os("PATH"),
        "HOME" | "RUSTUP_HOME" | "RUSTUP_TOOLCHAIN" | "JAVA_HOME" | "GOROOT" | "PYENV_ROOT"
        | "TZ" => None,
        _ => Some(CANARY.into()),
    })
}

pub fn git(directory: &Path, arguments: &[&str]) {
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "-c",
        "init.defaultBranch=main",
    ];
    let status = Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(directory)
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

pub fn thread(name: &str) -> ThreadKey {
    ThreadKey::cli(name)
}

impl World {
    /// Makes a repository with `src/lib.txt` and the tag `v1` on `main`, and also `topic.txt` on `topic`.
    pub fn origin(&self) -> PathBuf {
        let origin = self.folder.path().join("origin");
        std::fs::create_dir_all(origin.join("src")).unwrap();
        git(&origin, &["init", "-q"]);
        std::fs::write(origin.join("src/lib.txt"), "one\ntwo\nthree\n").unwrap();
        std::fs::write(origin.join(".gitignore"), "ignored\n").unwrap();
        git(&origin, &["add", "."]);
        git(&origin, &["commit", "-qm", "first"]);
        git(&origin, &["tag", "v1"]);
        git(&origin, &["checkout", "-qb", "topic"]);
        std::fs::write(origin.join("topic.txt"), "topic\n").unwrap();
        git(&origin, &["add", "."]);
        git(&origin, &["commit", "-qm", "second"]);
        git(&origin, &["checkout", "-q", "main"]);
        origin
    }

    pub async fn open_at(
        &self,
        name: &str,
        origin: &str,
        git_ref: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let repository = Repository {
            name: "acme/app".into(),
            origin: origin.to_owned(),
        };
        let git_ref = git_ref.map(|text| RefName::parse(text).unwrap());
        let thread = thread(name);
        let request = WorkspaceRequest {
            repository: Some(&repository),
            git_ref: git_ref.as_ref(),
            ..WorkspaceRequest::for_thread(&thread)
        };
        self.provider.open(request, cancel).await
    }

    pub async fn open_from(
        &self,
        name: &str,
        origin: &Path,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        self.open_at(
            name,
            &origin.display().to_string(),
            None,
            &CancellationToken::new(),
        )
        .await
    }

    pub async fn open(&self) -> Arc<dyn Workspace> {
        let origin = self.origin();
        self.open_from("t", &origin).await.unwrap()
    }

    pub fn tree(&self) -> PathBuf {
        self.provider.tree_of(&thread("t"))
    }

    /// Returns the entries in the workspaces' root.
    pub fn places(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("data/workspaces")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

pub async fn exec_for(workspace: &dyn Workspace, command: &str, seconds: u64) -> ExecOutcome {
    let request = ExecRequest {
        command,
        timeout: Duration::from_secs(seconds),
        output_limit: 10_000,
    };
    workspace
        .exec(request, &CancellationToken::new())
        .await
        .unwrap()
}

pub async fn exec(workspace: &dyn Workspace, command: &str) -> ExecOutcome {
    exec_for(workspace, command, 60).await
}

/// Runs a command that must succeed.
pub async fn must(workspace: &dyn Workspace, command: &str) -> String {
    let outcome = exec(workspace, command).await;
    assert_eq!(outcome.exit_code, 0, "{command}: {}", outcome.output);
    outcome.output
}

pub async fn text(workspace: &dyn Workspace, path: &str) -> Option<String> {
    let (content, _) = workspace.read(path, 1 << 20).await.ok()?;
    Some(String::from_utf8(content).unwrap())
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        tokio::time::timeout(TIMEOUT, wait).await.is_ok(),
        "never: {what}"
    );
}

pub fn is_alive(pid: &str) -> bool {
    // A zombie has ended, but the parent has not reaped it.
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| {
        !stat
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('Z'))
    })
}

pub async fn assert_dies(pid: &str) {
    assert!(pid.trim().parse::<u32>().is_ok(), "not a pid: {pid}");
    until("the process dies", async || !is_alive(pid)).await;
}
