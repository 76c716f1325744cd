//! A program's rights in the sandbox.

use std::path::PathBuf;

use ars_types::SandboxNetwork;

use crate::egress::{Gate, Way};

/// A program's rights besides reading the folders that all programs may read.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// Folders that it may change. They exist, and their paths have no links.
    pub(crate) writable: Vec<PathBuf>,
    /// More folders that it may read. They exist, and their paths have no links.
    pub(crate) readable: Vec<PathBuf>,
    /// The program's temporary folder, which is also in `writable`.
    pub(crate) temporary: PathBuf,
    /// The network that the program reaches.
    pub(crate) reach: Reach,
    /// A service program that it starts with, which it may read.
    pub(crate) entry: Option<PathBuf>,
    /// The program belongs to the service, and files in a tree choose no program that it starts.
    pub(crate) is_of_service: bool,
}

/// The network that a program reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everything that the machine reaches.
    Machine,
    /// No network at all.
    Nothing,
    /// Only through a proxy.
    Proxy(Way),
}

impl Reach {
    /// Returns a program's network. Without a network a program reaches nothing, whatever network
    /// others have.
    pub(crate) fn new(gate: Option<&Gate>, network: SandboxNetwork, has_network: bool) -> Self {
        match (gate, network) {
            (Some(gate), _) => Self::Proxy(gate.way().clone()),
            (None, SandboxNetwork::Open) if has_network => Self::Machine,
            (None, SandboxNetwork::Open | SandboxNetwork::Proxy | SandboxNetwork::None) => {
                Self::Nothing
            }
        }
    }
}
