//! Test tools for resident crates: a host without confinement.
//!
//! Crates use it as a dev-dependency only. Not here: confining a real host (the bot's adapters),
//! and test tools without the daemon (`shared/testkit`).
#![forbid(unsafe_code)]

use std::{
    ffi::OsString,
    fs::File,
    future::ready,
    io,
    process::{Command, Stdio},
    sync::Arc,
};

use ars_sandboxd::{Confine, Confined, Hold, Place, Started};
use futures::future::BoxFuture;

/// No confinement, because the tests start only their own commands.
#[derive(Debug, Clone, Copy)]
pub struct Unconfined;

impl Confine for Unconfined {
    fn confine(&self, _: &Place) -> io::Result<Arc<dyn Confined>> {
        Ok(Arc::new(Self))
    }
}

impl Confined for Unconfined {
    fn command(&self, mut words: Vec<OsString>) -> Command {
        let mut command = Command::new(words.remove(0));
        command.args(words);
        command
    }

    fn start(
        self: Arc<Self>,
        mut command: Command,
        input: Option<File>,
    ) -> BoxFuture<'static, io::Result<Started>> {
        command.stdin(input.map_or_else(Stdio::null, Stdio::from));
        let child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn();
        Box::pin(ready(child.map(|child| Started {
            child,
            hold: Box::new(Self),
        })))
    }
}

impl Hold for Unconfined {}
