//! A sandbox that lasts as long as a run: its first program starts each command inside of it.
//!
//! The bot and this program (`server`) speak over a socket that only the two have (`frames`). A command is started,
//! ends, and is followed by the death of everything that it left, before the next one starts. Not here: the bot's side
//! of a command (`workspace::session`), and the rights of the sandbox.

mod frames;
mod server;

use std::{ffi::OsStr, io};

use super::ruleset::{restrict_scopes, restrict_scopes_of_domain};

pub use server::serve;

pub(crate) use frames::{Answer, Frame, Order, Wait, receive, send, send_start};

/// The hidden subcommand.
pub const SERVE: &str = "sandbox-serve";

/// The word for an option of the program that is off.
const NONE: &str = "-";

/// How the signals of a command are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    /// Not further: the kernel has no scopes, and ignores signals from within for the first process of a namespace.
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

    fn parse(word: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|signals| signals.word() == word)
    }

    /// Limits the signals of this thread, and of what it starts.
    fn limit(self) -> io::Result<()> {
        match self {
            Self::Namespace => Ok(()),
            Self::Scopes => restrict_scopes(),
            Self::Domain => restrict_scopes_of_domain(),
        }
    }
}

/// The options of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    /// The most processes that the kernel counts in this namespace of users.
    pub(super) max_processes: Option<u32>,
    /// It makes the listener of the proxy, in its network namespace.
    pub(super) has_listener: bool,
    /// How the kernel keeps the signals of a command from this program.
    pub(super) signals: Signals,
    /// The folder in memory that is emptied after each command.
    pub(super) memory: Option<&'static str>,
}

impl Options {
    /// Returns the words after the subcommand.
    pub(super) fn words(self) -> [String; 4] {
        let flag = |is_on: bool, word: &str| if is_on { word } else { NONE }.to_owned();
        [
            self.max_processes.map_or_else(|| NONE.to_owned(), |most| most.to_string()),
            flag(self.has_listener, "listener"),
            self.signals.word().to_owned(),
            self.memory.unwrap_or(NONE).to_owned(),
        ]
    }
}
