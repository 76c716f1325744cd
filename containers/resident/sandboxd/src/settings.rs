//! Daemon settings.

use std::{fmt, path::PathBuf, sync::Arc};

use crate::confine::Confine;

/// Program environment that makes git show file names without octal escapes.
pub const READABLE_NAMES: [(&str, &str); 3] = [
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "core.quotePath"),
    ("GIT_CONFIG_VALUE_0", "false"),
];

/// How the daemon works on this machine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder that stands for `/workspace`. It is created.
    pub root: PathBuf,
    /// The folder that stands for `/home`. It is created.
    pub homes: PathBuf,
    /// Users and confinement mode.
    pub mode: Mode,
    /// How dependency store entries reach trees.
    pub links: StoreLinks,
    /// Program environment besides home, user and git settings, including `PATH`.
    pub environment: Vec<(String, String)>,
    /// More environment for the daemon's own git on a host, such as a proxy address. Confined
    /// programs lack it.
    pub of_service: Vec<(String, String)>,
    /// Build stamp of the daemon.
    pub build: String,
}

/// How dependency store entries reach trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreLinks {
    /// Hard links. Thread users cannot change the files, which the build user owns.
    Hard,
    /// Copies, where a single user owns everything and could change a linked file for all trees.
    Copy,
}

/// Program users and confinement.
#[derive(Clone)]
pub enum Mode {
    /// The daemon is root. Programs run as the build user or as a pool user.
    Users,
    /// The daemon's own user runs everything, in the caller's sandbox.
    Host(Arc<dyn Confine>),
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Users => "Users",
            Self::Host(_) => "Host",
        })
    }
}
