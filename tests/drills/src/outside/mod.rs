//! All servers that a bot uses besides its models and its Worker, in one that records its requests.
//! A span collector, a web search, and a git host with a password.

pub mod git;

mod registry;
mod server;

pub use registry::{PACKAGE, Registry};
pub use server::{Outside, Sent};
