//! Resume as a whole: conversations there and back, the tables of decisions, and runs killed at every write
//! (state-worker supplement sections 9.5, 10.2 and 10.3).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cuts;
mod round_trip;
mod support;
mod tables;
mod world;
