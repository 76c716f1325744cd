//! Test tools: fake model vendors that behave like the real ones, and refuse what the real ones refuse; the state
//! Worker in process; the live-run ledger as a model, and storage that fails when told to; steps held to
//! their folder.
//!
//! Not here: anything a shipped binary needs; crates name this one as a dev-dependency only (the benchmark runs its
//! example `instant_model` as a process). Each fake is itself checked by its vendor's official client (`tests/models`).
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test tool that cannot go on fails the test")]
#![forbid(unsafe_code)]

pub mod faulty;
pub mod ledger;
pub mod migrations;

mod native_state;
mod vendors;

pub use native_state::NativeState;
pub use vendors::{Block, Captured, Fake, FakeAnthropic, FakeOpenAi, Reply, Tokens, Vendor};
