//! The daemon over HTTP, for the engine in front of the container.

mod router;
mod steps;
mod transfers;

pub use router::router;
