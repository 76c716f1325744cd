//! Runs a program as a process group that is killed as a whole.
//!
//! A grandchild that keeps the pipe open cannot delay the caller: after the program has exited, the rest of its group
//! gets a short time to finish writing and is then killed. The group is killed before its leader is reaped, so its
//! number cannot belong to another group yet. A process that left the group (`setsid`) is killed with the sandbox.

use std::{
    future::pending,
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    pin::pin,
    process::ExitStatus,
    time::Duration,
};

use ars_bot_ports::{ReachedLimit, WorkspaceError};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::{
    io::{AsyncReadExt as _, Interest, unix::AsyncFd},
    net::unix::pipe,
    process::Child,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    capture::Capture,
    credentials::Credentials,
    start::{Input, Program, StartedProgram, start},
};
use crate::sandbox::Membership;

/// How long the pipe may stay open after the program has exited, and again after its group was killed.
pub(super) const LINGER: Duration = Duration::from_millis(250);
/// The exit code of a command that timed out, as in shells.
pub(super) const TIMED_OUT: i32 = 124;
/// The exit code of a signal is this plus its number, as in shells.
pub(super) const SIGNAL_BASE: i32 = 128;
/// Bytes read at once: a pipe's usual capacity.
const CHUNK: usize = 64 << 10;

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndedProgram {
    /// 128 + signal when killed by one, 124 when timed out.
    pub(super) exit_code: i32,
    /// The time limit killed it.
    pub(super) timed_out: bool,
    /// Limits of the run that were reached.
    pub(super) reached: Vec<ReachedLimit>,
}

/// Runs a program until it ends, times out, or is cancelled.
///
/// Without `errors`, standard error shares the pipe of standard output, which keeps the order of writing.
pub(super) async fn run(
    mut program: Program,
    credentials: Option<&Credentials>,
    limit: Duration,
    output: &mut Capture,
    errors: Option<&mut Capture>,
    cancel: &CancellationToken,
) -> Result<EndedProgram, WorkspaceError> {
    let (out, writer) = pipe()?;
    let (err, error_writer) = if errors.is_some() {
        pipe().map(|(reader, writer)| (Some(reader), writer))?
    } else {
        let shared = writer.try_clone();
        (None, shared.map_err(|error| infra("pipe", &error))?)
    };
    program
        .command
        .stdout(writer)
        .stderr(error_writer)
        .process_group(0);
    let input = credentials.map_or(Input::Empty, Input::Credentials);
    let StartedProgram {
        mut child,
        lifeline: _lifeline,
        keeper,
        membership,
    } = start(program, input).await?;
    let group = Group::new(&child);

    let mut reading = pin!(async {
        let errors = async {
            if let (Some(reader), Some(capture)) = (err, errors) {
                drain(reader, capture).await;
            }
        };
        tokio::join!(drain(out, output), errors);
    });
    let mut read_all = false;
    let end = {
        let mut exited = pin!(exited(&mut child));
        let mut alarm = pin!(tokio::time::sleep(limit));
        let mut watching = pin!(watch(membership.as_ref()));
        let mut is_watched = true;
        loop {
            tokio::select! {
                () = &mut reading, if !read_all => read_all = true,
                () = &mut watching, if is_watched => is_watched = false,
                done = &mut exited => break done.map(|()| End::Exited),
                () = &mut alarm => break Ok(End::TimedOut),
                () = cancel.cancelled() => break Ok(End::Cancelled),
            }
        }
    };
    if !read_all && matches!(end, Ok(End::Exited)) {
        read_all = timeout(LINGER, &mut reading).await.is_ok();
    }
    drop(group);
    drop(keeper);
    let reached = match membership {
        Some(membership) => membership.end().await,
        None => Vec::new(),
    };
    if !read_all && !matches!(end, Ok(End::Cancelled)) {
        // The group's last output is still in the pipe. Only a process outside the group can keep it open.
        let _ = timeout(LINGER, &mut reading).await;
    }
    let lost = |error: io::Error| infra("waiting for the command", &error);
    let status = child.wait().await.map_err(lost)?;
    let (exit_code, timed_out) = match end.map_err(lost)? {
        End::Exited => (exit_code(status), false),
        End::TimedOut => (TIMED_OUT, true),
        End::Cancelled => return Err(WorkspaceError::Cancelled),
    };
    Ok(EndedProgram {
        exit_code,
        timed_out,
        reached,
    })
}

async fn watch(membership: Option<&Membership>) {
    match membership {
        Some(membership) => membership.watch().await,
        None => pending().await,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Exited,
    TimedOut,
    Cancelled,
}

/// A process group that is killed when dropped.
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    pub(super) fn new(child: &Child) -> Self {
        Self {
            leader: child.id().and_then(|id| Pid::from_raw(id.cast_signed())),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // A missing group means that all of its processes have exited.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Waits for the program's exit, without reaping where the kernel supports that (`pidfd`, Linux 5.3).
#[expect(
    deprecated,
    reason = "sound for an OwnedFd, which always is the one file it owns; its successor is unsafe to call"
)]
async fn exited(child: &mut Child) -> io::Result<()> {
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Ok(handle)) => AsyncFd::with_interest(handle, Interest::READABLE)?
            .readable()
            .await
            .map(drop),
        Some(Err(_)) | None => child.wait().await.map(drop),
    }
}

pub(super) async fn drain(mut reader: pipe::Receiver, capture: &mut Capture) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = reader.read(&mut chunk).await {
        capture.push(&chunk[..count]);
    }
}

pub(super) fn pipe() -> Result<(pipe::Receiver, io::PipeWriter), WorkspaceError> {
    let failed = |error: io::Error| infra("pipe", &error);
    let (reader, writer) = io::pipe().map_err(failed)?;
    let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(failed)?;
    Ok((reader, writer))
}

fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| SIGNAL_BASE + signal))
        .unwrap_or(SIGNAL_BASE)
}

pub(super) fn infra(what: &str, error: &io::Error) -> WorkspaceError {
    WorkspaceError::Infra(format!("{what}: {error}"))
}
