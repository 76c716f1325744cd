//! Server-sent events: framing a run's stream, and reading it, live or saved.
//!
//! Not here: headers and sockets (`ars-bot-http`).

mod capture;
mod decoder;
pub mod frames;

pub use capture::Capture;
pub use decoder::{Decoder, Frame};
