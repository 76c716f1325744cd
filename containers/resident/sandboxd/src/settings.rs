//! Settings of the daemon.

use std::{fmt, path::PathBuf, sync::Arc};

use crate::confine::Confine;

/// Environment of programs that makes git show names of files without octal escapes.
pub const READABLE_NAMES: [(&str, &str); 3] = [
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "core.quotePath"),
    ("GIT_CONFIG_VALUE_0", "false"),
];

/// Settings of the daemon.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder that stands for `/workspace`. It is created.
    pub root: PathBuf,
    /// The folder that stands for `/home`. It is created.
    pub homes: PathBuf,
    /// Users and confinement.
    pub mode: Mode,
    /// How entries of the dependency store reach trees.
    pub links: StoreLinks,
    /// Environment of programs besides home, user and the settings of git. `PATH` is among it.
    pub environment: Vec<(String, String)>,
    /// More environment of the daemon's own git on a host, such as the address of a proxy.
    /// Confined programs lack it.
    pub of_service: Vec<(String, String)>,
    /// Build stamp.
    pub build: String,
}

/// How entries of the dependency store reach trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreLinks {
    /// Hard links. Users of threads cannot change the files, which the build user owns.
    Hard,
    /// Copies, where one user owns everything and could change a linked file for all trees.
    Copy,
}

/// Users and confinement of programs.
#[derive(Clone)]
pub enum Mode {
    /// The daemon is root. Programs run as the build user or as a user of the pool.
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
