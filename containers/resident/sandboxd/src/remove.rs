//! Removes files and folders with a single program, within a step or outside it.

use std::path::Path;

use ars_resident::daemon::{FailureKind, StepFailure};
use ars_resident::plan::User;

use crate::{
    failure::{Context as _, Result},
    process::{Program, Streams, run},
    runtime::{Runtime, words},
    settings::Mode,
    stop::Stop,
};

/// Removes a path below a folder without links. The program does not follow links in it.
pub(crate) async fn path(runtime: &Runtime, stop: &Stop, path: &Path) -> Result<()> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let mut failure = once(runtime, stop, User::ROOT, &[path]).await;
    if failure.is_err() && matches!(runtime.settings.mode, Mode::Host(_)) {
        failure = as_owner(runtime, stop, User::ROOT, &[path]).await;
    }
    failure
}

/// Removes paths as their owner, who first gets permissions for them: only root enters every folder.
pub(crate) async fn as_owner(
    runtime: &Runtime,
    stop: &Stop,
    user: User,
    paths: &[impl AsRef<Path>],
) -> Result<()> {
    let mut program = Program::of_root(&runtime.programs.chmod, Path::new("/"));
    program.user = user;
    let program = program
        .args(words(["-R", "u+rwX", "--"]))
        .args(paths.iter().map(AsRef::as_ref));
    let streams = Streams::create(&runtime.streams()?, None).context("streams")?;
    run(runtime, program, &streams, stop).await?;
    once(runtime, stop, user, paths).await
}

/// Removes paths as a user. A path that stays does not keep the others.
pub(crate) async fn once(
    runtime: &Runtime,
    stop: &Stop,
    user: User,
    paths: &[impl AsRef<Path>],
) -> Result<()> {
    let mut program = Program::of_root(&runtime.programs.rm, Path::new("/"));
    program.user = user;
    let paths = paths.iter().map(AsRef::as_ref);
    let program = program
        .args(words(["-rf", "--one-file-system", "--"]))
        .args(paths);
    let streams = Streams::create(&runtime.streams()?, None).context("streams")?;
    let ended = run(runtime, program, &streams, stop).await?;
    match (ended.stopped, ended.exit_code) {
        (Some(why), _) => Err(why.into()),
        (None, 0) => Ok(()),
        (None, code) => {
            let heads = streams.heads(4_096);
            let stderr = String::from_utf8_lossy(&heads.stderr).into_owned();
            Err(StepFailure {
                exit_code: Some(code),
                ..StepFailure::new(FailureKind::Exit, stderr)
            })
        }
    }
}
