//! Makes a workspace: the clone, the ref, and the metadata.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use ars_bot_ports::{CodeHost, KEPT_FOLDER, Repository, WorkspaceError, WorkspaceRequest};
use tempfile::TempDir;

use super::{
    checkpoint::{Mirror, restore},
    disk::infra,
    environment::TEMPORARY,
    git::{CLONE_TIMEOUT, Git, GitLimits, GitOutput, NO_TRANSPORT, SHORT, transports_of},
    host_access::OriginAccess,
    meta::Meta,
    start_point,
};
use crate::logins::without_userinfo;

/// Prefix for an incomplete workspace's name.
const PREFIX: &str = ".making-";
/// Age from which an incomplete workspace belongs to a dead process: git calls end within minutes.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Makes a folder beside the workspaces, which is removed with its content unless it is moved away.
pub(super) async fn folder_in(root: PathBuf) -> Result<TempDir, WorkspaceError> {
    let made = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&root)?;
        sweep(&root);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&root)?;
        for name in ["home", TEMPORARY] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        Ok(folder)
    });
    let broke_off = || WorkspaceError::Infra("making the workspace's folder broke off".into());
    made.await
        .map_err(|_| broke_off())?
        .map_err(|error: std::io::Error| infra(&error))
}

/// Removes dead processes' incomplete workspaces. Failures are retried by the next sweep.
fn sweep(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root) else {
        return;
    };
    for entry in entries.flatten() {
        let age = || {
            SystemTime::now()
                .duration_since(entry.metadata().ok()?.modified().ok()?)
                .ok()
        };
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && age().is_some_and(|age| age > ABANDONED_AFTER)
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Fills git's folder with `tree`, and returns the metadata.
pub(super) async fn fill(
    git: &Git<'_>,
    host: Option<&Arc<dyn CodeHost>>,
    request: WorkspaceRequest<'_>,
) -> Result<Meta, WorkspaceError> {
    match request.repository {
        Some(repository) => {
            clone(git, host, repository).await?;
            start_point::check_out(git, &without_userinfo(&repository.origin), request.git_ref)
                .await?;
        }
        None => {
            let command = git.outside(NO_TRANSPORT, &["init", "--quiet", "--", "tree"]);
            git.run(command, SHORT).await?.succeeded()?;
        }
    }
    ignore_kept_files(git.place)?;
    Ok(Meta {
        repository: request.repository.map(|repository| repository.name.clone()),
        origin: request
            .repository
            .map(|repository| without_userinfo(&repository.origin)),
        git_ref: request.git_ref.map(ToString::to_string),
        base: git.head().await?,
        branch: None,
        checkpoint: None,
        evicted: false,
    })
}

/// Fills git's folder with a checkpoint's tree. `repository` belongs to the thread.
///
/// The repository is cloned again, so that the tree has the origin's branches. Without the origin
/// it has only the checkpoint's commits.
pub(super) async fn refill(
    git: &Git<'_>,
    host: Option<&Arc<dyn CodeHost>>,
    repository: Option<&Repository>,
    (mirror, commit): (&Mirror, &str),
) -> Result<(), WorkspaceError> {
    let cloned = match repository {
        Some(repository) => clone(git, host, repository).await.map(|()| true),
        None => Ok(false),
    };
    match cloned {
        Ok(true) => {}
        Err(WorkspaceError::Cancelled) => return Err(WorkspaceError::Cancelled),
        Ok(false) | Err(_) => {
            let command = git.outside(NO_TRANSPORT, &["init", "--quiet", "--", "tree"]);
            git.run(command, SHORT).await?.succeeded()?;
            if let Some(repository) = repository {
                let address = without_userinfo(&repository.origin);
                let command = git.inside(&["remote", "add", "--", "origin", &address]);
                git.run(command, SHORT).await?.succeeded()?;
            }
        }
    }
    if let Err(error) = cloned {
        tracing::warn!(%error, "a tree is restored without its origin");
    }
    ignore_kept_files(git.place)?;
    restore(git, mirror, commit).await
}

/// Hides the service's own files in the tree from the agent's changes.
fn ignore_kept_files(place: &Path) -> Result<(), WorkspaceError> {
    let info = place.join("tree/.git/info");
    let write = || {
        std::fs::create_dir_all(&info)?;
        let mut exclude = std::fs::File::options()
            .create(true)
            .append(true)
            .open(info.join("exclude"))?;
        writeln!(exclude, "/{KEPT_FOLDER}/")
    };
    write().map_err(|error| infra(&error))
}

async fn clone(
    git: &Git<'_>,
    host: Option<&Arc<dyn CodeHost>>,
    repository: &Repository,
) -> Result<(), WorkspaceError> {
    let origin = &repository.origin;
    let clean = without_userinfo(origin);
    let mut access = OriginAccess::to_read(origin, host).await?;
    let mut answer = clone_with(git, origin, &access).await?;
    if answer.exit_code != 0 && access.is_rejected(&answer.own_words(), host) {
        access = OriginAccess::to_read(origin, host).await?;
        answer = clone_with(git, origin, &access).await?;
    }
    if answer.exit_code != 0 {
        return Err(WorkspaceError::Clone(match is_plain_folder(origin) {
            true => format!(
                "{clean} could not be cloned: it is a folder without git: run `git init` in it and commit"
            ),
            false => format!(
                "{clean} could not be cloned: {}",
                access.explain(answer.own_words())
            ),
        }));
    }
    if clean != *origin {
        // Git stores the clone's address where the agent can read it.
        let command = git.inside(&["remote", "set-url", "--", "origin", &clean]);
        git.run(command, SHORT).await?.succeeded()?;
    }
    Ok(())
}

/// Returns whether an origin is a folder without a repository. Git reports that it does not exist.
fn is_plain_folder(origin: &str) -> bool {
    let folder = Path::new(origin);
    folder.is_absolute()
        && folder.is_dir()
        && !folder.join(".git").exists()
        && !folder.join("HEAD").exists()
}

async fn clone_with(
    git: &Git<'_>,
    origin: &str,
    access: &OriginAccess,
) -> Result<GitOutput, WorkspaceError> {
    let clean = without_userinfo(origin);
    let credentials = access.credentials.as_ref();
    let setting = credentials
        .iter()
        .flat_map(|found| ["-c".to_owned(), found.setting()]);
    // Without credentials the address is passed unchanged: the user in an ssh address is not a
    // secret.
    let address = if credentials.is_some() {
        &clean
    } else {
        origin
    };
    // Copies the objects: a hard link would let an agent modify the origin's files.
    let clone = [
        "clone",
        "--quiet",
        "--no-hardlinks",
        "--end-of-options",
        address,
        "tree",
    ];
    let arguments: Vec<String> = setting.chain(clone.map(str::to_owned)).collect();
    let command = git.outside(transports_of(origin), &arguments);
    git.run_with(
        command,
        credentials,
        GitLimits {
            time: CLONE_TIMEOUT,
            ..SHORT
        },
    )
    .await
}
