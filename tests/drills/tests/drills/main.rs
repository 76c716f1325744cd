//! Drills: bot processes are killed, replaced and attacked.
//!
//! Each drill has its own state Worker on workerd, its own scripted model vendor and its own
//! repository. `DRILLS_FULL=1 cargo nextest run -p ars-tests-drills` kills the bot at each point
//! five times (docs/testing.md).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod canaries;
mod checks;
mod children;
mod deploys;
mod friction;
mod hostile;
mod hostile_repository;
mod idempotency;
mod kills;
mod overload;
mod points;
mod probes;
mod queue;
mod searched;

/// Path to the bot's binary with kill points.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ars-drilled");
