//! The edge Worker on the real runtime, with a scripted bot behind it: at an address, or as a container of a scripted
//! engine (`engine`).
//!
//! Not here: real containers, raw sockets and memory (`tests/edge`).
#![expect(clippy::unwrap_used, reason = "a double that cannot go on fails its test")]

mod engine;
mod lifecycle;
mod proxy;
mod restart;
mod unread;
mod versions;
