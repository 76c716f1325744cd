//! Decisions about a request that passes through the edge to the bot, and about the response.
//!
//! Pure: random bytes are an argument. Not here: the container (`ars-container`) and the transfer
//! itself (`durable-objects/platform`).
#![forbid(unsafe_code)]

pub mod caller;
pub mod environment;
pub mod failure;
pub mod headers;
pub mod local;
