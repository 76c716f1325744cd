//! The settings of the sandbox.

use std::path::PathBuf;

use ars_types::SandboxKind;
use serde::Deserialize;

/// How commands are confined.
#[derive(Debug, Clone, Default)]
pub struct SandboxSettings {
    /// The kind. `None` selects bubblewrap where it works, else Landlock, else no command runs.
    pub kind: Option<SandboxKind>,
    /// The network of commands.
    pub network: Network,
    /// More folders and files that commands may read and execute.
    pub readable: Vec<PathBuf>,
}

/// The network of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// The network of the machine, its loopback interface included.
    #[default]
    Open,
    /// No network.
    None,
}

impl Network {
    /// Returns the word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::None => "none",
        }
    }
}
