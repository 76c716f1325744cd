//! Test tools: fake model vendors that validate requests like the real ones, a fake code host and
//! a fake chat workspace.
//!
//! Also the state Worker in process, the ledger as a model, storage with fault injection, gauges
//! for soak drills, everything that hostile callers plant, a check that compares migrations with
//! their folder, and the programs that a test can go without.
//!
//! Crates use this crate as a dev-dependency only (the benchmark and `cargo xtask up` run
//! its examples as processes). An official client checks each fake vendor (`tests/models`).
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failure of a test tool fails the test"
)]
#![forbid(unsafe_code)]

pub mod faulty;
pub mod gauges;
pub mod github;
pub mod ledger;
pub mod migrations;
pub mod slack;
pub mod subjects;

mod configuration;
mod machine;
mod native_state;
mod vendors;

pub use configuration::OPERATOR_CONFIG;
pub use machine::leave_out;
pub use native_state::NativeState;
pub use vendors::{Block, Captured, Fake, FakeAnthropic, FakeOpenAi, Reply, Tokens, Vendor};
