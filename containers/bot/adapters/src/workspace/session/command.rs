//! A single command in a session.

use std::{future::pending, io, os::fd::BorrowedFd, pin::pin, process::Command};

use ars_bot_ports::{ReachedLimit, WorkspaceError};
use tokio::time::timeout;

use super::{
    lend::Lent,
    live::{Live, SESSION_TIMEOUT},
};
use crate::{
    sandbox::{Answer, Frame, Membership, RunGroup, start_message},
    workspace::process::{SIGNAL_BASE, infra},
};

/// Signal number for SIGKILL.
const KILL: i32 = 9;

/// A command that was started. Dropping it ends the session as well.
pub(crate) struct Ongoing {
    lent: Lent,
    membership: Option<Membership>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With this code: 128 + signal if a signal ended it, or a limit everything in the sandbox.
    Code(i32),
    /// It could not be started, for this reason.
    Failed(String),
    /// The session ended before the command began.
    NotBegun,
}

impl Lent {
    /// Starts a command. The descriptors are for standard output and standard error. `None` if the
    /// session ended before the command began.
    pub(crate) async fn start(
        mut self,
        command: &Command,
        streams: [BorrowedFd<'_>; 2],
    ) -> Result<Option<Ongoing>, WorkspaceError> {
        self.is_over = false;
        let membership = self
            .session
            .settings
            .group
            .as_ref()
            .and_then(RunGroup::attend);
        let message = start_message(command).map_err(|error| lost(&error))?;
        match self.live()?.send(&message, &streams).await {
            Err(error) if has_not_begun(&error) => Ok(None),
            sent => {
                sent.map_err(|error| lost(&error))?;
                Ok(Some(Ongoing {
                    lent: self,
                    membership,
                }))
            }
        }
    }
}

impl Ongoing {
    fn live(&self) -> Result<&Live, WorkspaceError> {
        self.lent.live()
    }

    /// Waits until the command ends. A limit on the control group ends it, too.
    pub(crate) async fn exited(&self) -> Result<Exit, WorkspaceError> {
        let mut answered = pin!(self.live()?.answer());
        let mut watching = pin!(async {
            match &self.membership {
                Some(membership) => membership.watch().await,
                None => pending().await,
            }
        });
        let mut is_watched = true;
        let answer = loop {
            tokio::select! {
                () = &mut watching, if is_watched => is_watched = false,
                () = self.lent.session.ended.cancelled() => break Ok(None),
                answer = &mut answered => break answer,
            }
        };
        let text = |body: Vec<u8>| String::from_utf8_lossy(&body).into_owned();
        match answer {
            Err(error) if has_not_begun(&error) => Ok(Exit::NotBegun),
            Err(error) => Err(lost(&error)),
            Ok(Some(Frame {
                kind: Answer::Exited,
                body,
                ..
            })) => Ok(Exit::Code(text(body).parse().unwrap_or(SIGNAL_BASE))),
            Ok(Some(Frame {
                kind: Answer::Failed,
                body,
                ..
            })) => Ok(Exit::Failed(text(body))),
            // Everything in the sandbox was killed, such as at a run limit, or must end.
            Ok(_) => Ok(Exit::Code(SIGNAL_BASE + KILL)),
        }
    }

    /// Kills the command, or everything it left, and returns the session for the next command.
    /// `exit` is absent if the command had to stop. Returns the limits that were reached.
    pub(crate) async fn finish(mut self, exit: Option<&Exit>) -> Vec<ReachedLimit> {
        let is_killed = match self.live() {
            Ok(live) => timeout(SESSION_TIMEOUT, live.kill())
                .await
                .is_ok_and(|killed| killed.is_ok()),
            Err(_) => false,
        };
        let reached = match self.membership.take() {
            Some(membership) => membership.end().await,
            None => Vec::new(),
        };
        self.lent.is_over = is_killed && !matches!(exit, Some(Exit::Failed(_)));
        reached
    }
}

fn lost(error: &io::Error) -> WorkspaceError {
    infra("the session", error)
}

/// Returns whether a broken connection means that the order was not read.
fn has_not_begun(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}
