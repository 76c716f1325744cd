//! Properties that only the deployed Worker shows: durability under kills, concurrency, and size.
//!
//! `tests/contract` tests each route's responses.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crash;
mod large;
mod ledger;
mod records;
mod size;
mod soak;
mod sweep;
