//! Runs a resident's command on this machine in the sandbox that the tree's commands share.

use std::{ffi::OsString, io, os::fd::BorrowedFd, process::Command, sync::Arc};

use ars_sandboxd::{SharedEnd, SharedSandbox};
use futures::future::BoxFuture;

use super::confine::refused_of;
use crate::{
    egress::{Gate, RunEgress},
    workspace::{Exit, Lent},
};

/// A tree's sandbox while a command has it.
pub(super) struct LentSandbox {
    lent: Lent,
    /// Rules and refusals of the command's proxy.
    egress: Option<Arc<RunEgress>>,
    /// The proxy, which ends with the command.
    gate: Option<Gate>,
}

impl LentSandbox {
    pub(super) fn new(lent: Lent, egress: Option<Arc<RunEgress>>) -> Self {
        Self {
            lent,
            egress,
            gate: None,
        }
    }
}

impl SharedSandbox for LentSandbox {
    fn variables(&mut self) -> io::Result<Vec<(OsString, OsString)>> {
        if let Some(egress) = &self.egress {
            self.gate = self.lent.gate(egress).map_err(io::Error::other)?;
        }
        let variables = self.gate.iter().flat_map(Gate::variables);
        Ok(variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect())
    }

    fn run<'a>(
        self: Box<Self>,
        command: &'a Command,
        streams: [BorrowedFd<'a>; 2],
        stopped: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, io::Result<Option<SharedEnd>>> {
        let Self { lent, egress, gate } = *self;
        Box::pin(async move {
            let _until_the_end = gate;
            let started = lent
                .start(command, streams)
                .await
                .map_err(io::Error::other)?;
            let Some(ongoing) = started else {
                return Ok(None);
            };
            let exit = tokio::select! {
                exit = ongoing.exited() => Some(exit.map_err(io::Error::other)?),
                () = stopped => None,
            };
            // A resident does not report which limit was reached.
            ongoing.finish(exit.as_ref()).await;
            let exit_code = match exit {
                Some(Exit::Code(code)) => Some(code),
                None => None,
                // The caller tries a separate sandbox, where the command begins or fails with a
                // reason.
                Some(Exit::NotBegun | Exit::Failed(_)) => return Ok(None),
            };
            let refused = egress.as_deref().map_or_else(Vec::new, refused_of);
            Ok(Some(SharedEnd { exit_code, refused }))
        })
    }
}
