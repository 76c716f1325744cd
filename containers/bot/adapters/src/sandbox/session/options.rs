//! Options for a session's first program. Not here: how it uses them.

use std::{ffi::OsStr, io, path::PathBuf};

use crate::sandbox::ruleset::{restrict_scopes, restrict_scopes_of_domain};

/// Name of the hidden subcommand.
pub const SERVE: &str = "sandbox-serve";
/// Stands for a program option that is off.
pub(super) const NONE: &str = "-";

/// How a command's signals are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) enum Signals {
    /// Not further: the kernel has no scopes. It ignores signals from within for a namespace's
    /// first process.
    Namespace,
    /// By scopes, within a sandbox that Landlock gives no rules for files.
    Scopes,
    /// By scopes, within a Landlock domain that has file rules.
    Domain,
}

impl Signals {
    const ALL: [Self; 3] = [Self::Namespace, Self::Scopes, Self::Domain];

    const fn word(self) -> &'static str {
        match self {
            Self::Namespace => NONE,
            Self::Scopes => "scopes",
            Self::Domain => "domain",
        }
    }

    pub(super) fn parse(word: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|signals| signals.word() == word)
    }

    /// Limits signals from this thread and everything it starts.
    pub(super) fn limit(self) -> io::Result<()> {
        match self {
            Self::Namespace => Ok(()),
            Self::Scopes => restrict_scopes(),
            Self::Domain => restrict_scopes_of_domain(),
        }
    }
}

/// Options that the program gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sandbox) struct Options {
    /// Maximum processes that the kernel counts in this user namespace.
    pub(in crate::sandbox) max_processes: Option<u32>,
    /// The program makes the proxy's listener, in its network namespace.
    pub(in crate::sandbox) has_listener: bool,
    /// How the kernel keeps a command's signals from this program.
    pub(in crate::sandbox) signals: Signals,
    /// The folder in memory that is emptied after each command.
    pub(in crate::sandbox) memory: Option<&'static str>,
    /// The workspace, by which people find the process. The program does not read it.
    pub(in crate::sandbox) place: PathBuf,
}

impl Options {
    /// Returns the words after the subcommand.
    pub(in crate::sandbox) fn words(self) -> [String; 5] {
        let flag = |is_on: bool, word: &str| if is_on { word } else { NONE }.to_owned();
        [
            self.max_processes
                .map_or_else(|| NONE.to_owned(), |most| most.to_string()),
            flag(self.has_listener, "listener"),
            self.signals.word().to_owned(),
            self.memory.unwrap_or(NONE).to_owned(),
            self.place.display().to_string(),
        ]
    }
}
