//! `ars diff <thread>`: the changes in a thread's working tree.

use std::process::ExitCode;

use ars_bot_ports::{WorkspaceError, WorkspaceProvider as _, WorkspaceRequest};
use ars_types::ThreadKey;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::{args::Diff, compose, terminal};

/// Prints the diff, which is empty without changes.
pub async fn run(args: Diff) -> Result<ExitCode, Failure> {
    let (config, state_url) = (args.config.as_deref(), args.state_url.as_deref());
    let workspaces = compose::configured_workspaces(args.data.clone(), config, state_url).await?;
    let thread = ThreadKey::from_text(&args.thread).ok_or_else(|| {
        Failure::InvalidInput(
            "the thread must be a key, such as `http:default:mine` or `cli:mine`".into(),
        )
    })?;
    if workspaces.repository_of(&thread).await?.is_none() {
        let data_dir = compose::data_dir(args.data)?;
        let data_dir = data_dir.display();
        return Err(Failure::InvalidInput(format!(
            "that thread has no working tree in {data_dir}: name another data directory with --data-dir (`cargo xtask \
             up` keeps the bot's in .ars/bot)"
        )));
    }
    let request = WorkspaceRequest::for_thread(&thread);
    let opened = workspaces.open(request, &CancellationToken::new()).await;
    let workspace = opened.map_err(|error| match error {
        WorkspaceError::NotFound(reason) => Failure::InvalidInput(reason),
        error => error.into(),
    })?;
    terminal::print(&workspace.diff().await?)?;
    Ok(ExitCode::SUCCESS)
}
