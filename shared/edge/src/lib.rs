//! What the edge decides in front of the bot's container: who may ask a developer's bot, which headers pass, which
//! variables the container gets, when it is started and stopped, and who may restart it.
//!
//! Pure: time and random bytes are arguments, and every decision is a value. Not here: carrying it out
//! (`durable-objects/bot`), and the bot's half of a restart (`containers/bot/http`).
//! Implements document 1 sections 2.2, 4.6 and 5, resident supplement 13, bot supplement 20.2.
#![forbid(unsafe_code)]

pub mod environment;
pub mod headers;
pub mod lifecycle;
pub mod local;
pub mod restart;

mod answer;
mod failure;

pub use answer::Answer;
