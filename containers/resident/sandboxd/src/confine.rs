//! The confinement of a program on a host, which the caller supplies.

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

/// The folders of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Folders that it may change.
    pub writable: Vec<PathBuf>,
    /// Folders of the workspace that it may read.
    pub readable: Vec<PathBuf>,
    /// Its folder for temporary files, in one of `writable`.
    pub temporary: PathBuf,
    /// It is a command of a caller or of the command table, which may need the network.
    pub has_network: bool,
}

/// Confines programs that a repository or a caller chose.
pub trait Confine: Send + Sync + 'static {
    /// Returns the confinement of one program. It is dropped after the end of the program.
    ///
    /// # Errors
    /// The program is not started.
    fn confine(&self, place: &Place) -> io::Result<Arc<dyn Confined>>;

    /// Starts the sandbox that the commands of a tree share, in the background.
    fn prepare_shared(&self, _place: &Place) {}

    /// Returns the sandbox that the commands of a tree share, which is started if need be.
    /// `None` if the command needs a separate sandbox, such as one beside another command.
    fn share(&self, _place: &Place) -> BoxFuture<'_, Option<Box<dyn SharedSandbox>>> {
        Box::pin(ready(None))
    }

    /// Ends the shared sandboxes with writable folders at or below `folder`.
    /// A command in progress ends with its own.
    fn end_shared(&self, _folder: &Path) {}
}

/// A shared sandbox while a command has it.
pub trait SharedSandbox: Send {
    /// Returns more environment variables of the command, such as the address of a proxy.
    ///
    /// # Errors
    /// The command has no proxy.
    fn variables(&mut self) -> io::Result<Vec<(OsString, OsString)>>;

    /// Runs a command until it ends or must stop, and kills what it left.
    /// The descriptors are those of its standard output and its standard error.
    /// `None` if the sandbox ended before the command began.
    fn run<'a>(
        self: Box<Self>,
        command: &'a Command,
        streams: [BorrowedFd<'a>; 2],
        stopped: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, io::Result<Option<SharedEnd>>>;
}

/// The end of a command in a shared sandbox.
#[derive(Debug, Clone)]
pub struct SharedEnd {
    /// 128 + signal if a signal ended it. `None` if it had to stop.
    pub exit_code: Option<i32>,
    /// Hosts that its proxy refused.
    pub refused: Vec<RefusedHost>,
}

/// The confinement of one program.
pub trait Confined: Send + Sync + 'static {
    /// Returns the command that becomes the program of these words.
    fn command(&self, words: Vec<OsString>) -> Command;

    /// Starts the command. Rights and limits hold from the first instruction of the program.
    /// The input is read from its current position. Its absence is empty input.
    fn start(
        self: Arc<Self>,
        command: Command,
        input: Option<File>,
    ) -> BoxFuture<'static, io::Result<Started>>;

    /// Returns more environment variables of the program, such as the address of a proxy.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        Vec::new()
    }

    /// Returns the hosts that a proxy refused the program so far, each once.
    fn refused(&self) -> Vec<RefusedHost> {
        Vec::new()
    }
}

/// A started program.
pub struct Started {
    /// Its first process, the leader of a process group.
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
