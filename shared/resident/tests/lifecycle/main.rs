//! The lifecycle on a simulated platform.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod coverage;
mod incidents;
mod model;
mod table;
mod world;
