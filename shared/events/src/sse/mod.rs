//! Server-sent events: how a run's stream is framed, and how a client reads it back, live or saved.
//!
//! Not here: headers and sockets (`ars-bot-http`). Implements bot supplement section 11.3.

mod capture;
mod decoder;
pub mod frames;

pub use capture::Capture;
pub use decoder::{Decoder, Frame};
