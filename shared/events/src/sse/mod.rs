//! Server-sent events: how a run's stream is framed, and how a client reads it back.
//!
//! Not here: headers and sockets (`ars-bot-http`). Implements bot supplement section 11.3.

mod decoder;
pub mod frames;

pub use decoder::{Decoder, Frame};
