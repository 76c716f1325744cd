//! The rights of one program in the sandbox.

use std::path::PathBuf;

use crate::egress::Way;

/// The rights of one program besides reading the folders of all.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// Folders that it may change. They exist, and their paths have no links.
    pub(crate) writable: Vec<PathBuf>,
    /// Its folder for temporary files, one of `writable`.
    pub(crate) temporary: PathBuf,
    /// Its network.
    pub(crate) reach: Reach,
}

/// The network of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everything that the machine reaches.
    Machine,
    /// Nothing.
    Nothing,
    /// A proxy.
    Proxy(Way),
}
