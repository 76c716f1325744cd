//! Runs a command in the tree's shared sandbox, on a host that has such a sandbox.

use std::os::fd::AsFd as _;

use ars_resident::output::TIMEOUT_EXIT;

use super::{
    program::{Program, Sharing},
    run::{EndedProcess, of_words, set_environment},
    streams::Streams,
};
use crate::{
    failure::{Context as _, Result},
    runtime::Runtime,
    settings::Mode,
    stop::{Stop, Why},
};

/// The exit code when a command had to stop early.
const KILLED: i32 = 137;

/// Runs a program that may share a sandbox. `None` if it did not begin and needs a separate
/// sandbox.
pub(super) async fn run(
    runtime: &Runtime,
    program: &Program,
    streams: &Streams,
    (stop, tag): (&Stop, &str),
) -> Result<Option<EndedProcess>> {
    let (Sharing::WithTree, Mode::Host(confine), Some(place)) =
        (program.sharing, &runtime.settings.mode, &program.place)
    else {
        return Ok(None);
    };
    let Some(mut shared) = stop.until(confine.share(place)).await? else {
        return Ok(None);
    };
    let mut command = of_words(&program.words);
    let more = shared.variables().context("confinement")?;
    set_environment(&mut command, runtime, program, (more, tag))?;
    let mut why = None;
    let stopped = Box::pin(async { why = Some(stop.stopped().await) });
    let outputs = [streams.stdout.as_fd(), streams.stderr.as_fd()];
    let Some(end) = shared
        .run(&command, outputs, stopped)
        .await
        .context("the shared sandbox")?
    else {
        return Ok(None);
    };
    let stopped = why.filter(|_| end.exit_code.is_none());
    let exit_code = match (end.exit_code, stopped) {
        (Some(code), _) => code,
        (None, Some(Why::TimedOut)) => TIMEOUT_EXIT,
        (None, Some(Why::Cancelled) | None) => KILLED,
    };
    Ok(Some(EndedProcess {
        exit_code,
        stopped,
        refused: end.refused,
    }))
}
