//! Tests the service over real working trees: above the limit, the oldest clean tree goes.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use ars_bot_adapters::{
    models::{Catalog, Transport},
    sandbox::SandboxSettings,
};
use ars_bot_core::{Capabilities, Deps, settings::Settings};
use ars_bot_ports::{Repository, WorkspaceProvider as _, WorkspaceRequest};
use ars_events::Redactor;
use ars_types::{Platform, ThreadKey};

use super::*;
use crate::{
    clock::SystemClock,
    compose,
    config::RunHistory,
    services::Supervisor,
    stores::{Place, Stores},
};

const HOUR: Duration = Duration::from_secs(3600);

fn core(data_dir: &Path, workspaces: &Arc<GitWorkspaces>) -> Core {
    let place = Place {
        wanted: None,
        state_url: None,
        token: None,
        data_dir,
        memory_cap: 10,
    };
    Core::new(Deps {
        clock: Arc::new(SystemClock),
        models: Arc::new(
            Catalog::new(BTreeMap::new(), Transport::default())
                .ok()
                .unwrap(),
        ),
        workspaces: Arc::<GitWorkspaces>::clone(workspaces),
        store: Stores::open(&RunHistory::default(), &place)
            .ok()
            .unwrap()
            .runs,
        capabilities: Capabilities::default(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        settings: Settings::default(),
    })
}

/// Makes a repository with a single commit.
fn origin(folder: &Path) -> Repository {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("a.txt"), "one\n").unwrap();
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &["commit", "-qm", "first"],
    ] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(arguments);
        assert!(
            git.current_dir(folder).status().unwrap().success(),
            "{arguments:?}"
        );
    }
    Repository {
        name: "acme/app".into(),
        origin: folder.display().to_string(),
    }
}

/// Clones a tree that was used so many hours ago, and returns the path.
async fn cloned(
    workspaces: &GitWorkspaces,
    origin: &Repository,
    name: &str,
    hours: u32,
) -> PathBuf {
    let thread = ThreadKey::new(Platform::Http, "default", name);
    let request = WorkspaceRequest {
        repository: Some(origin),
        ..WorkspaceRequest::for_thread(&thread)
    };
    drop(
        workspaces
            .open(request, &CancellationToken::new())
            .await
            .unwrap(),
    );
    let place = workspaces.tree_of(&thread).parent().unwrap().to_path_buf();
    File::open(&place)
        .unwrap()
        .set_modified(SystemTime::now() - HOUR * hours)
        .unwrap();
    place
}

#[tokio::test]
async fn oldest_clean_tree_goes_above_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let workspaces = Arc::new(compose::workspaces(&data_dir, SandboxSettings::default()));
    let origin = origin(&folder.path().join("origin"));
    let newer = cloned(&workspaces, &origin, "newer", 1).await;
    let oldest = cloned(&workspaces, &origin, "oldest", 2).await;
    let used = workspaces.measure().await.unwrap().bytes();

    let core = core(&data_dir, &workspaces);
    let disk = DiskService {
        core,
        workspaces,
        max_bytes: used - 1,
        interval: Duration::from_millis(1),
    };
    let mut supervisor = Supervisor::new();
    supervisor.start(disk);
    while oldest.exists() {
        tokio::task::yield_now().await;
    }
    assert!(newer.join("tree/a.txt").exists());
}
