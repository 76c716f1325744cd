//! Scenarios of the agent runtime: a quiet one, every kill point of it, random ones, and many runs at once
//! (docs/testing.md).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod at_once;
mod found;
mod found_taken;
mod kill_points;
mod quiet;
mod seeds;
