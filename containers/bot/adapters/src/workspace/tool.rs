//! Runs programs that measure, repair or remove a whole workspace.

use std::{path::Path, time::Duration};

use ars_bot_ports::WorkspaceError;
use tokio_util::sync::CancellationToken;

use super::{capture::Capture, process, programs::Programs};

/// Timeout for measuring, repairing or removing a workspace.
const DISK_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Maximum output bytes from a program that measures, repairs or removes.
const OUTPUT_LIMIT: usize = 4 << 10;

/// Runs a machine program, confined to a workspace, because an agent made the files that it reads.
pub(super) async fn run(
    programs: &Programs,
    program: &str,
    place: &Path,
    arguments: &[&str],
) -> Result<String, WorkspaceError> {
    let Some(mut program) = programs.tool_inside(program, place) else {
        return Err(WorkspaceError::Infra(format!(
            "the machine has no {program}"
        )));
    };
    program.command.args(arguments).current_dir(place);
    let mut output = Capture::start(OUTPUT_LIMIT);
    let mut errors = Capture::both_ends(OUTPUT_LIMIT);
    let never = CancellationToken::new();
    process::run(
        program,
        None,
        DISK_TIMEOUT,
        &mut output,
        Some(&mut errors),
        &never,
    )
    .await?;
    Ok(String::from_utf8_lossy(&output.into_start()).into_owned())
}
