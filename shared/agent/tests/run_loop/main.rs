//! The agent loop through its public face: a test for each rule, then invariants over random runs.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod fitting;
mod invariants;
mod paying;
mod resuming;
mod rules;
mod steering;
mod support;
