//! The run store's two adapters: one suite over both, and what only one of them can do wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod embedded;
mod fixture;
mod state_worker;
mod suite;
mod worker;
