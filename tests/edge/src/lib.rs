//! The edge Worker on workerd, callers that speak to it byte by byte, and behind it a bot that shows what arrived, or the
//! real one in its container.
//!
//! Not here: what is proven (`tests/edge`, `tests/container`).
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, reason = "test support: a broken set-up ends the test with its cause")]

mod corpus;
mod edge;
mod message;
mod recorder;
mod relay;
mod watch;
mod wire;
mod world;

pub use corpus::{Attempt, attempts};
pub use edge::Edge;
pub use message::Message;
pub use recorder::{Arrival, HALF_AN_HOUR, Recorder};
pub use watch::{Seen, Watch};
pub use wire::{PATIENCE, Said, Wire};
pub use world::{VENDOR_KEY, VIEWER, World};
