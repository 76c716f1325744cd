//! The options of the first program of a session. Not here: what it does with them.

use std::{ffi::OsStr, io, path::PathBuf};

use crate::sandbox::ruleset::{restrict_scopes, restrict_scopes_of_domain};

/// The hidden subcommand.
pub const SERVE: &str = "sandbox-serve";
/// The word for an option of the program that is off.
pub(super) const NONE: &str = "-";

/// How the signals of a command are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) enum Signals {
    /// Not further: the kernel has no scopes.
    /// For the first process of a namespace it ignores signals from within.
    Namespace,
    /// By scopes, within a sandbox that Landlock gives no rules for files.
    Scopes,
    /// By scopes, within a domain of Landlock that has rules for files.
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

    /// Limits the signals of this thread, and of what it starts.
    pub(super) fn limit(self) -> io::Result<()> {
        match self {
            Self::Namespace => Ok(()),
            Self::Scopes => restrict_scopes(),
            Self::Domain => restrict_scopes_of_domain(),
        }
    }
}

/// The options of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sandbox) struct Options {
    /// The most processes that the kernel counts in this namespace of users.
    pub(in crate::sandbox) max_processes: Option<u32>,
    /// It makes the listener of the proxy, in its network namespace.
    pub(in crate::sandbox) has_listener: bool,
    /// How the kernel keeps the signals of a command from this program.
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
