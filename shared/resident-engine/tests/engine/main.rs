//! The engine on SQLite and a simulated container: routes, the lifecycle, crashes at every effect.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking, and takes JSON literals"
)]

mod callers;
mod checkpoints;
mod container;
mod crash;
mod deps;
mod documents;
mod faults;
mod fleet;
mod lifecycle;
mod outages;
mod publish;
mod schema;
mod threads;
mod world;
