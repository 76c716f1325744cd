//! Scenarios of the agent runtime: a quiet one, every kill point of it, and random ones (docs/testing.md).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod kill_points;
mod quiet;
mod seeds;
