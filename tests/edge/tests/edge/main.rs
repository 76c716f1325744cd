//! The edge Worker on workerd: the headers and bodies, the rejected callers, the container's life.
//!
//! Behind it runs a recorder or a scripted bot, or a container engine that a test controls (`engine`). Not here: the
//! bot in a real container (`tests/container`).
#![expect(
    clippy::unwrap_used,
    reason = "a double that cannot go on fails its test"
)]

mod bodies;
mod callers;
mod engine;
mod lifecycle;
mod proxy;
mod restart;
mod retirement;
mod smuggling;
mod streams;
mod unread;
mod versions;
