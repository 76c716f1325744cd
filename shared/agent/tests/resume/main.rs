//! Resume as a whole: the round trip of conversations, and the tables of decisions.
//! Runs killed at every write are in `tests/simulation`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod round_trip;
mod support;
mod tables;
