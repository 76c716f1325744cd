//! Resume as a whole: the round trip of conversations, the tables of decisions, and runs killed at every write.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cuts;
mod round_trip;
mod support;
mod tables;
mod world;
