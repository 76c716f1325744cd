//! All servers that a bot uses besides models and Worker, in a single recording server. A span
//! collector, a web search, and a git host with a password.

pub mod git;

mod registry;
mod server;

pub use registry::{PACKAGE, Registry};
pub use server::{Outside, Sent};
