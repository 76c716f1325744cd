//! The confinement of a program on a host, which the caller supplies.

use std::{ffi::OsString, io, path::PathBuf, sync::Arc};

use ars_resident::daemon::RefusedHost;

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
    /// Returns the words that precede the program.
    fn words(&self) -> Vec<OsString> {
        Vec::new()
    }

    /// Restricts this thread and the programs that it starts. The thread lives as long as its program.
    ///
    /// # Errors
    /// The program is not started.
    fn restrict_thread(&self) -> io::Result<()>;

    /// Returns more environment variables of the program, such as the address of a proxy.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        Vec::new()
    }

    /// Returns the hosts that a proxy refused the program so far, each once.
    fn refused(&self) -> Vec<RefusedHost> {
        Vec::new()
    }
}
