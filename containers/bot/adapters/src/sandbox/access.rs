//! The rights of one program in the sandbox.

use std::path::PathBuf;

use ars_types::SandboxNetwork;

use crate::egress::{Gate, Way};

/// The rights of one program besides reading the folders of all.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// Folders that it may change. They exist, and their paths have no links.
    pub(crate) writable: Vec<PathBuf>,
    /// More folders that it may read. They exist, and their paths have no links.
    pub(crate) readable: Vec<PathBuf>,
    /// Its folder for temporary files, one of `writable`.
    pub(crate) temporary: PathBuf,
    /// Its network.
    pub(crate) reach: Reach,
    /// A program of the service that it starts with, which it may read.
    pub(crate) entry: Option<PathBuf>,
    /// It is the service's, and files of a tree choose no program that it starts.
    pub(crate) is_of_service: bool,
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

impl Reach {
    /// Returns the network of a program. One without a network reaches nothing, whatever that of others is.
    pub(crate) fn of(gate: Option<&Gate>, network: SandboxNetwork, has_network: bool) -> Self {
        match (gate, network) {
            (Some(gate), _) => Self::Proxy(gate.way().clone()),
            (None, SandboxNetwork::Open) if has_network => Self::Machine,
            (None, SandboxNetwork::Open | SandboxNetwork::Proxy | SandboxNetwork::None) => {
                Self::Nothing
            }
        }
    }
}
