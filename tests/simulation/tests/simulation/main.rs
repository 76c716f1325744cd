//! Scenarios of the agent runtime: without faults, at every kill point, with random faults, and with concurrent runs
//! (docs/testing.md).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod at_once;
mod kill_points;
mod quiet;
mod regressions;
mod seeds;
