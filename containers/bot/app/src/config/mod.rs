//! The configuration file: YAML, JSON or TOML, strict (docs/ars.example.toml shows every key).
//!
//! An unknown key, an unknown word or a malformed name is an error with the place and the expected
//! form. No error quotes the value: a key pasted into the wrong place must not reach a log.

pub mod dashboard;
mod egress;
mod execution;
mod file;
mod format;
mod grants;
mod history;
mod limits;
mod memory;
mod people;
mod providers;
mod reach;
mod remote;
mod review;
mod scopes;
mod settings;
mod spending;
#[cfg(test)]
mod tests;
mod web;

pub use self::execution::{ExecutionKind, Resident, folder_of};
pub use self::history::{HistoryStore, RunHistory, Worker};
pub use self::memory::Memory;
pub use self::providers::{REHEARSAL, configured as providers};
pub use self::reach::Reach;
pub use self::remote::{key as remote_key, load as load_remote};
pub use self::review::MAX_ABRIDGER_TIMEOUT;
pub use crate::error::{ConfigError, RemoteError};
pub use file::File;
pub use format::{Format, load, parse};

/// Validates a TOML text.
#[cfg(test)]
fn parse_toml(text: &str) -> Result<File, ConfigError> {
    parse(text, Format::Toml)
}
