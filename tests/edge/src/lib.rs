//! The edge Worker on workerd, callers that speak to it byte by byte, and a bot behind it that shows what arrived.
//!
//! Not here: what is proven (`tests/edge`).
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, reason = "test support: a broken set-up ends the test with its cause")]

mod edge;
mod recorder;
mod wire;

pub use edge::Edge;
pub use recorder::{Arrival, Recorder};
pub use wire::{PATIENCE, Said, Wire};
