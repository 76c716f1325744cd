//! Workspaces of a data directory, in the folder and the sandbox that the configuration names.

use std::path::{Path, PathBuf};

use ars_bot_adapters::{
    sandbox::SandboxSettings,
    workspace::{ChildEnvironment, GitWorkspaces},
};

use super::configuration::{data_dir, file, invalid_configuration, tree_folder};
use crate::{args::Data, commands::Failure, config::ExecutionKind, environment};

/// Returns the workspaces of a configuration and a data directory, without the rest of the set-up.
pub async fn configured_workspaces(
    data: Data,
    config: Option<&Path>,
    state_url: Option<&str>,
) -> Result<GitWorkspaces, Failure> {
    let data_dir = data_dir(data)?;
    let Some(path) = config else {
        return Ok(workspaces(&data_dir, SandboxSettings::default()));
    };
    let file = file(path, state_url).await?;
    let sandbox = file
        .sandbox
        .settings()
        .map_err(|error| invalid_configuration(config, &error))?;
    let tree_folder = tree_folder(&file, config, &data_dir)?;
    Ok(in_folder(
        workspaces(&data_dir, sandbox),
        tree_folder,
        file.execution.kind,
    ))
}

/// Returns the workspaces of a data directory.
pub fn workspaces(data_dir: &Path, sandbox: SandboxSettings) -> GitWorkspaces {
    // Without its own path the service finds no proxy, and says so when it chooses the sandbox.
    let entry = sandbox.entry.or_else(|| std::env::current_exe().ok());
    let sandbox = SandboxSettings { entry, ..sandbox };
    GitWorkspaces::new(
        data_dir,
        ChildEnvironment::from_service(environment::raw),
        sandbox,
    )
    .with_upstream(environment::upstream())
}

/// Moves workspaces to the configured folder, if there is one.
pub(super) fn in_folder(
    workspaces: GitWorkspaces,
    folder: Option<PathBuf>,
    kind: ExecutionKind,
) -> GitWorkspaces {
    match (kind, folder) {
        (ExecutionKind::Local, Some(folder)) => workspaces.in_folder(folder),
        (ExecutionKind::Local, None) => workspaces,
    }
}
