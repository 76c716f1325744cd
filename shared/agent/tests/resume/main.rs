//! Resume as a whole: conversation round trips, and the decision tables.
//!
//! `tests/simulation` kills runs at every write.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod round_trip;
mod support;
mod tables;
