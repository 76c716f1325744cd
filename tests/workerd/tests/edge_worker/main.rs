//! The edge Worker on the real runtime, in front of a bot that does what the test says: at an address, or, where it is
//! the container's life that is looked at, behind an engine that does what the test says (`engine`).
//!
//! Not here: real containers, raw sockets and memory (`tests/edge`).
#![expect(clippy::unwrap_used, reason = "a double that cannot go on fails its test")]

mod engine;
mod life;
mod proxy;
mod restart;
mod unread;
mod versions;
