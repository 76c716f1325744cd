//! The daemon over HTTP, for the engine in front of the container.

mod router;
mod serve;
mod steps;
mod transfers;

pub use router::router;
pub use serve::{CONNECTIONS_MAX, raise_file_limit, serve};
