//! Real plans' steps, with real git and real processes, in both modes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod attach;
mod checkpoint;
mod commands;
mod deps;
mod holders;
mod hostile;
mod http;
mod publish;
mod restore;
mod trash;
mod world;
