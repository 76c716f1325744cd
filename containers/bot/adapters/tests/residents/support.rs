//! A repository at a code host, local residents, and waits for conditions.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use ars_bot_adapters::{
    residents::{
        AutoOnboarding, LocalTransport, PROBE_TIMEOUT, ResidentPlaces, ResidentWorkspaces,
        ResidentsClient,
    },
    sandbox::SandboxSettings,
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_bot_ports::{
    ExecOutcome, ExecRequest, OpenFor, Repository, Residents, TreeAccess, Workspace,
    WorkspaceError, WorkspaceProvider, WorkspaceRequest,
};
use ars_resident::{names::Resource, wire::OffboardRequest};
use ars_types::{RefName, SandboxKind, ThreadKey};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub use crate::onboard::RESOURCE;
use crate::onboard::onboard;

pub struct World {
    pub folder: TempDir,
    pub local: Arc<GitWorkspaces>,
    pub residents: Arc<dyn Residents>,
    pub trees: ResidentWorkspaces,
}

pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "-c",
        "init.defaultBranch=main",
    ];
    let output = Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub fn thread(name: &str) -> ThreadKey {
    ThreadKey::cli(name)
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

fn landlock() -> SandboxSettings {
    SandboxSettings {
        kind: Some(SandboxKind::Landlock),
        ..SandboxSettings::default()
    }
}

fn repository_in(folder: &TempDir) -> Repository {
    let origin = folder.path().join("origin.git").display().to_string();
    Repository {
        name: "acme/app".to_owned(),
        origin,
    }
}

impl World {
    /// Makes a world. Nothing is onboarded yet.
    pub fn new() -> Self {
        Self::in_folder(Self::folder())
    }

    /// Makes a world with this sandbox for commands.
    pub fn in_sandbox(sandbox: SandboxSettings) -> Self {
        Self::opened(Self::folder(), sandbox, None)
    }

    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::create_dir_all(source.join("src")).unwrap();
        git(&source, &["init", "-q"]);
        std::fs::write(source.join("src/lib.txt"), "one\ntwo\nthree\n").unwrap();
        std::fs::write(source.join("run.sh"), "#!/bin/sh\necho ran\n").unwrap();
        std::fs::write(source.join(".gitignore"), "ignored\nnode_modules\n").unwrap();
        git(&source, &["add", "."]);
        git(&source, &["update-index", "--chmod=+x", "run.sh"]);
        git(&source, &["commit", "-qm", "first"]);
        git(
            folder.path(),
            &["clone", "-q", "--bare", "source", "origin.git"],
        );
        folder
    }

    /// Opens a world's data directory, as another process would.
    pub fn in_folder(folder: TempDir) -> Self {
        Self::opened(folder, landlock(), None)
    }

    /// Returns a world with runs that onboard these repositories.
    pub fn onboarding(select: impl FnOnce(Repository) -> Vec<Repository>) -> Self {
        let Self {
            folder,
            local,
            residents,
            trees,
        } = Self::new();
        drop((trees, residents, local));
        let repositories = select(repository_in(&folder));
        Self::opened(folder, landlock(), Some(repositories))
    }

    fn opened(
        folder: TempDir,
        sandbox: SandboxSettings,
        onboarded: Option<Vec<Repository>>,
    ) -> Self {
        let data = folder.path().join("data");
        let environment =
            ChildEnvironment::from_service(|name| (name == "PATH").then(|| "/usr/bin:/bin".into()));
        let sandbox = SandboxSettings {
            entry: Some(entry()),
            ..sandbox
        };
        let local = Arc::new(GitWorkspaces::new(&data, environment, sandbox));
        let origin = folder.path().join("origin.git").display().to_string();
        let known = move |resource: &Resource| {
            (resource.as_str() == RESOURCE).then(|| Repository {
                name: "acme/app".to_owned(),
                origin: origin.clone(),
            })
        };
        let transport = LocalTransport::new(
            data.join("residents"),
            Arc::clone(&local),
            Arc::new(known),
            "test".to_owned(),
        );
        let transport = Arc::new(transport);
        let client = ResidentsClient::over(Arc::clone(&transport), PROBE_TIMEOUT * 10);
        let residents: Arc<dyn Residents> = Arc::new(client);
        let places = ResidentPlaces {
            resource_of: Arc::new(|repository| {
                (repository.name == "acme/app").then(|| Resource::parse(RESOURCE).unwrap())
            }),
            are_local: true,
        };
        let mut trees =
            ResidentWorkspaces::new(Arc::clone(&local), Arc::clone(&residents), places, &data);
        if let Some(repositories) = onboarded {
            let residents = Arc::clone(&residents);
            trees = trees.with_onboarding(AutoOnboarding::new(
                transport,
                residents,
                repositories.into(),
            ));
        }
        Self {
            folder,
            local,
            residents,
            trees,
        }
    }

    /// Returns the world after the process restarts.
    pub fn restarted(self) -> Self {
        let Self {
            folder,
            local,
            residents,
            trees,
        } = self;
        drop((trees, residents, local));
        Self::in_folder(folder)
    }

    pub fn repository(&self) -> Repository {
        repository_in(&self.folder)
    }

    /// Onboards the repository and waits until it is warm.
    pub async fn onboard(&self) {
        onboard(&*self.residents, "test -f src/lib.txt").await;
    }

    /// Makes the resident fetch.
    pub async fn attach_unknown_branch(&self) {
        let request = json!({ "resource": RESOURCE, "threadKey": "load:1", "refHint": "unknown" });
        let request = serde_json::from_value(request).unwrap();
        let refused = self
            .residents
            .attach(&request, &CancellationToken::new())
            .await
            .unwrap_err();
        assert!(refused.to_string().starts_with("unknown-ref"), "{refused}");
    }

    pub async fn offboard(&self) {
        let resource = Resource::parse(RESOURCE).unwrap();
        let request = OffboardRequest {
            resource,
            dry_run: false,
        };
        self.residents
            .offboard(&request, &CancellationToken::new())
            .await
            .unwrap();
    }

    /// Opens a thread's workspace as the first message does.
    pub async fn open(&self, name: &str) -> Arc<dyn Workspace> {
        self.try_open(name, Some(&self.repository()), OpenFor::Run)
            .await
            .unwrap()
    }

    /// Opens a thread's workspace for an agent that changes nothing.
    pub async fn open_to_read(&self, name: &str) -> Arc<dyn Workspace> {
        let (thread, repository) = (thread(name), self.repository());
        let request = WorkspaceRequest {
            repository: Some(&repository),
            access: TreeAccess::Read,
            purpose: OpenFor::Run,
            ..WorkspaceRequest::for_thread(&thread)
        };
        self.trees
            .open(request, &CancellationToken::new())
            .await
            .unwrap()
    }

    /// Opens a new thread's workspace at a branch.
    pub async fn open_at(&self, name: &str, branch: &str) -> Arc<dyn Workspace> {
        let (thread, repository) = (thread(name), self.repository());
        let branch = RefName::parse(branch).unwrap();
        let request = WorkspaceRequest {
            repository: Some(&repository),
            git_ref: Some(&branch),
            purpose: OpenFor::Run,
            ..WorkspaceRequest::for_thread(&thread)
        };
        self.trees
            .open(request, &CancellationToken::new())
            .await
            .unwrap()
    }

    /// Opens a thread's workspace as a later message or a viewer does.
    pub async fn again(
        &self,
        name: &str,
        purpose: OpenFor,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        self.try_open(name, None, purpose).await
    }

    async fn try_open(
        &self,
        name: &str,
        repository: Option<&Repository>,
        purpose: OpenFor,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let thread = thread(name);
        let request = WorkspaceRequest {
            repository,
            agent: Some("coding"),
            purpose,
            ..WorkspaceRequest::for_thread(&thread)
        };
        self.trees.open(request, &CancellationToken::new()).await
    }
}

pub async fn exec(workspace: &dyn Workspace, command: &str) -> ExecOutcome {
    let request = ExecRequest {
        command,
        timeout: Duration::from_secs(20),
        output_limit: 10_000,
    };
    workspace
        .exec(request, &CancellationToken::new())
        .await
        .unwrap()
}
