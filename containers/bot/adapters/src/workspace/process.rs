//! Running a command as a process group that dies whole.
//!
//! Standard output and error share one pipe, so that their order is the order of writing. A grandchild that keeps
//! the pipe open cannot hold the caller: once the command itself has exited, the rest of the group gets a short
//! while to finish writing and is then killed.

use std::{
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use ars_bot_core::ports::{ExecOutcome, WorkspaceError};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{io::AsyncReadExt as _, net::unix::pipe, process::Child, time::timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;

/// How long the pipe may stay open after the command itself has exited.
const LINGER: Duration = Duration::from_millis(250);
/// What a shell says of a command that ran out of time.
const TIMED_OUT: i32 = 124;
/// A shell adds the signal's number to this.
const SIGNAL_BASE: i32 = 128;
/// Bytes read at once.
const CHUNK: usize = 16 << 10;

/// A process group that is killed when dropped, whatever happens to the future that waits for it.
struct Group {
    leader: Pid,
}

impl Drop for Group {
    fn drop(&mut self) {
        // No such group means that all of it has exited.
        let _ = kill_process_group(self.leader, Signal::KILL);
    }
}

enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

/// Runs a prepared command to its end, its timeout, or the cancellation.
pub(super) async fn run(
    mut command: Command,
    limit: Duration,
    output_limit: usize,
    cancel: &CancellationToken,
) -> Result<ExecOutcome, WorkspaceError> {
    let (mut output, writer) = shared_pipe()?;
    let also_writer = writer.try_clone().map_err(|error| infra("pipe", &error))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(also_writer).process_group(0);
    let mut child = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| infra("the command could not be started", &error))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).map(|leader| Group { leader });

    let mut capture = Capture::new(output_limit);
    let end = tokio::select! {
        status = wait_and_read(&mut child, &mut output, &mut capture) => {
            End::Exited(status.map_err(|error| infra("waiting for the command", &error))?)
        }
        () = tokio::time::sleep(limit) => End::TimedOut,
        () = cancel.cancelled() => End::Cancelled,
    };
    drop(group);
    let exit_code = match end {
        End::Exited(status) => exit_code(status),
        End::TimedOut | End::Cancelled => {
            drop(child.wait().await);
            TIMED_OUT
        }
    };
    if matches!(end, End::Cancelled) {
        return Err(WorkspaceError::Cancelled);
    }
    let (output, truncated) = capture.finish();
    Ok(ExecOutcome { exit_code, output, truncated, timed_out: matches!(end, End::TimedOut) })
}

fn shared_pipe() -> Result<(pipe::Receiver, std::io::PipeWriter), WorkspaceError> {
    let (reader, writer) = std::io::pipe().map_err(|error| infra("pipe", &error))?;
    let reader =
        pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(|error| infra("pipe", &error))?;
    Ok((reader, writer))
}

/// Reads while the command runs; after its exit, until the pipe closes or the linger is over.
async fn wait_and_read(
    child: &mut Child,
    output: &mut pipe::Receiver,
    capture: &mut Capture,
) -> std::io::Result<ExitStatus> {
    let mut chunk = vec![0; CHUNK];
    let mut open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            read = output.read(&mut chunk), if open => match read? {
                0 => open = false,
                count => capture.push(&chunk[..count]),
            },
        }
    };
    let rest = async {
        while open {
            match output.read(&mut chunk).await {
                Ok(0) | Err(_) => open = false,
                Ok(count) => capture.push(&chunk[..count]),
            }
        }
    };
    // A group that still holds the pipe is killed by the caller; what it wrote so far is kept.
    let _ = timeout(LINGER, rest).await;
    Ok(status)
}

fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().or_else(|| status.signal().map(|signal| SIGNAL_BASE + signal)).unwrap_or(SIGNAL_BASE)
}

fn infra(what: &str, error: &std::io::Error) -> WorkspaceError {
    WorkspaceError::Infra(format!("{what}: {error}"))
}
