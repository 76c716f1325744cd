//! The state Worker's contract for run history, on the real runtime (document 2 sections 4.3, 5, 7, 8;
//! state-worker supplement sections 1 and 5).
//!
//! The store's own rules are tested natively in `shared/runs`; here is what only the deployed whole can show.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contract;
mod crash;
mod durability;
mod gate;
mod records;
mod size;
