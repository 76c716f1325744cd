//! Agent runtime scenarios (docs/testing.md). Without faults, at every kill point, with random
//! faults, and with concurrent runs.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod at_once;
mod kill_points;
mod quiet;
mod regressions;
mod seeds;
