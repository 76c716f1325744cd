//! Decisions about a Durable Object's container: when it starts and stops, and who may restart it.
//!
//! Pure: time is an argument and every decision is a value. Not here: execution (`durable-objects/platform`), proxied
//! requests (`ars-proxy`), and the bot's half of a restart (`containers/bot/http`).
#![forbid(unsafe_code)]

mod answer;
pub mod failure;
mod held;
pub mod lifecycle;
pub mod restart;

pub use answer::Answer;
pub use held::{Caller, HeldRequests, MAX_HELD, MAX_HELD_ANONYMOUS};
