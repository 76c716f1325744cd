//! Runs a command in a session and captures the output.

use std::{io, os::fd::AsFd as _, pin::pin, process::Command, time::Duration};

use ars_bot_ports::WorkspaceError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{command::Exit, lend::Lent};
use crate::workspace::{
    capture::Capture,
    process::{End, EndedProgram, LINGER, TIMED_OUT, drain, infra, pipe},
};

impl Lent {
    /// Runs a command until it ends, times out, or is cancelled. Standard error shares standard
    /// output's pipe. `None` if the session ended before the command began.
    pub(in crate::workspace) async fn run(
        self,
        command: &Command,
        limit: Duration,
        output: &mut Capture,
        cancel: &CancellationToken,
    ) -> Result<Option<EndedProgram>, WorkspaceError> {
        let (out, writer) = pipe()?;
        let started = self
            .start(command, [writer.as_fd(), writer.as_fd()])
            .await?;
        drop(writer);
        let Some(ongoing) = started else {
            return Ok(None);
        };
        let mut reading = pin!(drain(out, output));
        let mut read_all = false;
        let end = {
            let mut exited = pin!(ongoing.exited());
            let mut alarm = pin!(tokio::time::sleep(limit));
            loop {
                tokio::select! {
                    () = &mut reading, if !read_all => read_all = true,
                    exit = &mut exited => break Ok(exit?),
                    () = &mut alarm => break Err(End::TimedOut),
                    () = cancel.cancelled() => break Err(End::Cancelled),
                }
            }
        };
        if end == Ok(Exit::NotBegun) {
            return Ok(None);
        }
        if !read_all && end.is_ok() {
            read_all = timeout(LINGER, &mut reading).await.is_ok();
        }
        let reached = ongoing.finish(end.as_ref().ok()).await;
        if !read_all && !matches!(end, Err(End::Cancelled)) {
            // The last output is still in the pipe.
            let _ = timeout(LINGER, &mut reading).await;
        }
        let ended = match end {
            Ok(Exit::Code(exit_code)) => EndedProgram {
                exit_code,
                timed_out: false,
                reached,
            },
            Ok(Exit::Failed(reason)) => {
                return Err(infra(
                    "the command could not be started",
                    &io::Error::other(reason),
                ));
            }
            Ok(Exit::NotBegun) => return Ok(None),
            Err(End::TimedOut) => EndedProgram {
                exit_code: TIMED_OUT,
                timed_out: true,
                reached,
            },
            Err(_) => return Err(WorkspaceError::Cancelled),
        };
        Ok(Some(ended))
    }
}
