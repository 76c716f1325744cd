//! The commands: authorization, validation and handlers for all surfaces (docs/reference/commands.md).
//!
//! A surface builds a [`Caller`] and a raw input, and renders the answer. Not here: definitions' types and the grammar
//! (`ars-commands`), and transports.

mod call;
mod caller;
mod command;
mod config;
mod error;
mod failure;
mod fence;
mod friction;
mod help;
mod invoke;
mod memory;
mod repo;
mod review;
mod runs;
mod schedule;
mod settle;
mod status;
mod table;
mod text;
mod untrusted;

pub use crate::context::CommandDeps;
pub use caller::{Caller, Origin};
pub use failure::{DecidedBy, Failure};
pub use friction::{Analysis, StreamOptions};
pub use invoke::{Commands, Success};
pub(crate) use table::registry;
pub use table::{catalogue, catalogue_of, text_of};
