//! Settings for the sandbox.

use std::path::PathBuf;

use ars_types::{SandboxKind, SandboxNetwork};

use super::limits::RunLimits;
use crate::egress::EgressSettings;

/// How commands are confined.
#[derive(Debug, Clone, Default)]
pub struct SandboxSettings {
    /// The kind. `None` selects bubblewrap where it works, else Landlock, else no command runs.
    pub kind: Option<SandboxKind>,
    /// The commands' network. `None` selects the proxy, or the open network without a sandbox.
    pub network: Option<SandboxNetwork>,
    /// The hosts that the proxy allows.
    pub egress: EgressSettings,
    /// The service's own program, which is first in a network namespace (`egress::enter`).
    pub entry: Option<PathBuf>,
    /// More folders and files that commands may read and execute.
    pub readable: Vec<PathBuf>,
    /// Whether commands under Landlock may listen for connections, which also come from other programs.
    pub may_listen: bool,
    /// Limits for a run as a whole.
    pub limits: RunLimits,
}

impl SandboxSettings {
    /// Returns the commands' network in this sandbox kind.
    pub(super) fn network_in(&self, kind: SandboxKind) -> SandboxNetwork {
        self.network.unwrap_or(match kind {
            SandboxKind::Bubblewrap | SandboxKind::Landlock => SandboxNetwork::Proxy,
            SandboxKind::None => SandboxNetwork::Open,
        })
    }
}
