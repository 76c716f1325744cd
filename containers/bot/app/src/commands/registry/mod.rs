//! Registry commands on the command line (docs/reference/commands.md).
//!
//! Help and completions come from a `clap::Command` that is built from the definitions. The words
//! after a command are parsed by the registry's own grammar, which is the same on every text
//! surface.

mod catalogue;
mod command;
mod configured;
mod invocation;
mod local;
mod offline;
mod options;
mod output;
mod server;
mod sources;

pub use catalogue::{alone, with_commands};
pub use command::run;
pub use configured::configured;
pub use invocation::Invocation;
pub use server::{Dispatched, Server, Wait, failure_of, is_unconnected};
