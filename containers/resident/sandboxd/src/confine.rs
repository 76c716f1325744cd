//! Confines a program on a host, as the caller supplies it.

use std::{
    ffi::OsString,
    fs::File,
    future::ready,
    io,
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use ars_resident::daemon::RefusedHost;
use futures::future::BoxFuture;
use tokio::process::Child;

/// A program's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Folders that it may change.
    pub writable: Vec<PathBuf>,
    /// Workspace folders that it may read.
    pub readable: Vec<PathBuf>,
    /// The folder for temporary files, inside `writable`.
    pub temporary: PathBuf,
    /// A caller's or table command, which may need the network.
    pub has_network: bool,
}

/// Confines programs that a repository or a caller chose.
pub trait Confine: Send + Sync + 'static {
    /// Confines a single program. Dropped after the program ends.
    ///
    /// # Errors
    /// The program is not started.
    fn confine(&self, place: &Place) -> io::Result<Arc<dyn Confined>>;

    /// Starts a tree's shared command sandbox, in the background.
    fn prepare_shared(&self, _place: &Place) {}

    /// Returns a tree's shared command sandbox, which is started if need be. `None` if the command
    /// needs a separate sandbox, such as beside another command.
    fn share(&self, _place: &Place) -> BoxFuture<'_, Option<Box<dyn SharedSandbox>>> {
        Box::pin(ready(None))
    }

    /// Ends the shared sandboxes with writable folders at or below `folder`.
    /// A command in progress ends with its own.
    fn end_shared(&self, _folder: &Path) {}
}

/// A shared sandbox while a command has it.
pub trait SharedSandbox: Send {
    /// Returns more environment variables for the command, such as a proxy address.
    ///
    /// # Errors
    /// The command has no proxy.
    fn variables(&mut self) -> io::Result<Vec<(OsString, OsString)>>;

    /// Runs a command until it ends or must stop, and kills what it left. The descriptors are for
    /// standard output and standard error. `None` if the sandbox ended before the command began.
    fn run<'a>(
        self: Box<Self>,
        command: &'a Command,
        streams: [BorrowedFd<'a>; 2],
        stopped: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, io::Result<Option<SharedEnd>>>;
}

/// How a command ended in a shared sandbox.
#[derive(Debug, Clone)]
pub struct SharedEnd {
    /// 128 + signal if a signal ended it. `None` if it had to stop.
    pub exit_code: Option<i32>,
    /// Hosts that the proxy refused.
    pub refused: Vec<RefusedHost>,
}

/// Confines a single program.
pub trait Confined: Send + Sync + 'static {
    /// Returns the command that becomes the program with these words.
    fn command(&self, words: Vec<OsString>) -> Command;

    /// Starts the command. Rights and limits hold from the program's first instruction. The input
    /// is read from the current position. Without input the program reads nothing.
    fn start(
        self: Arc<Self>,
        command: Command,
        input: Option<File>,
    ) -> BoxFuture<'static, io::Result<Started>>;

    /// Returns more environment variables for the program, such as a proxy address.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        Vec::new()
    }

    /// Returns the hosts that a proxy refused the program so far, each once.
    fn refused(&self) -> Vec<RefusedHost> {
        Vec::new()
    }
}

/// A program that was started.
pub struct Started {
    /// The first process, which leads a process group.
    pub child: Child,
    /// What lasts as long as the program.
    pub hold: Box<dyn Hold>,
}

/// What lasts as long as a program. Dropped, it kills what the program left behind.
pub trait Hold: Send + Sync {
    /// Ends the program when it exceeds a limit. It may return before or never.
    fn watch(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}
