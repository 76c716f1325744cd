//! The edge Worker on workerd, callers that speak to it byte by byte, and behind it a bot that shows what arrived, or the
//! real one in its container.
//!
//! Not here: what is proven (`tests/edge`, `tests/container`).
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, reason = "test support: a broken set-up ends the test with its cause")]

mod edge;
mod recorder;
mod relay;
mod watch;
mod wire;
mod world;

pub use edge::Edge;
pub use recorder::{Arrival, Recorder};
pub use watch::{Seen, Watch};
pub use wire::{PATIENCE, Said, Wire};
pub use world::{VENDOR_KEY, VIEWER, World};
