//! The bot as processes that are killed and replaced.
//!
//! Each drill has its own machine: a state Worker on workerd, a scripted vendor, a repository. The full form, each
//! point five times, is `DRILLS_FULL=1 cargo nextest run -p ars-tests-drills` (docs/testing.md).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod canaries;
mod checks;
mod children;
mod deploys;
mod hostile;
mod kills;
mod memory;
mod points;
mod searched;
mod trees;

/// The bot with its kill points.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ars-drilled");
