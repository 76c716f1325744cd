//! What only the deployed whole can show: that what was acknowledged stays, under kills and many writers, and that it
//! is small (document 2 sections 3.3 and 4.3).
//!
//! What each route answers is in `tests/contract`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crash;
mod durability;
mod large;
mod ledger;
mod records;
mod size;
mod sweep;
