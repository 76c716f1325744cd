//! The agent runtime in a simulated world: the real core and the real store logic.
//! The model and the tools are scripted, with planned kills and faults.
//!
//! A [`Plan`] assigns faults to port calls, [`play()`] plays its [`Story`] and returns the observations, and
//! [`violations`] returns the broken guarantees. Time is simulated, so a scenario of hours takes milliseconds. Not
//! here: real processes and real files (`containers/bot/app/tests`).
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test support: what cannot go on fails the test"
)]

mod channel;
mod clock;
mod evidence;
mod fault;
mod invariants;
mod lifetime;
mod model;
mod play;
mod process;
mod random;
mod script;
mod story;
mod viewer;
mod wire;
mod workspace;
mod world;

pub use evidence::{Evidence, RunSeen};
pub use fault::{ClockOwner, Fault, FaultKind, Plan};
pub use invariants::{Violation, violations};
pub use play::{Ended, play, play_at_once};
pub use story::Story;
pub use workspace::CHECKPOINT_CALL;
