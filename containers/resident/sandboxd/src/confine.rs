//! The confinement of a program on a host, which the caller supplies.

use std::{ffi::OsString, fs::File, io, path::PathBuf, process::Command, sync::Arc};

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
