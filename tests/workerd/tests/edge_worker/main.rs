//! The edge Worker on the real runtime, in front of a bot that does what the test says.
//!
//! Not here: real containers, raw sockets and memory (`tests/edge`).
#![expect(clippy::unwrap_used, reason = "a double that cannot go on fails its test")]

mod proxy;
mod restart;
