//! A machine for drills: a state Worker, a scripted vendor, a repository, and bot processes. The
//! Worker runs on workerd, and the processes are started and killed.
//!
//! Not here: the drills (`tests/drills`), and the bot's kill points (`containers/bot/app`).
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a drill that cannot go on fails with its cause"
)]

mod bot;
mod coding;
mod machine;
mod outside;
mod processes;
mod searched;
pub mod secrets;
mod state;
mod watch;

pub use bot::{Bot, TIMEOUT, comes_true, until};
pub use coding::{Coding, Traces, answers, results};
pub use machine::{Machine, Setup};
pub use outside::{Outside, PACKAGE, Registry, Sent};
pub use processes::{Process, below, is_alive, peak_bytes, shown_with};
pub use state::State;
