//! The agent runtime in a simulated world (issue "The agent runtime", Proof): the real core and the real store logic,
//! with a scripted model and scripted tools, killed and hindered by plan.
//!
//! A [`Plan`] says what goes wrong at which call of a port; [`play()`] plays its [`Story`] against it and hands back
//! what the world saw; [`violations`] says which of the runtime's promises it did not keep. Time is simulated, so a
//! case of hours takes milliseconds. Not here: real processes and real files (`containers/bot/app/tests`).
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
mod life;
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
pub use fault::{Fault, Plan, What, Whose};
pub use invariants::{Violation, violations};
pub use play::{Ended, play, play_at_once};
pub use story::Story;
