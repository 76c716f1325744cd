//! The Anthropic Messages API: a thin, lossless client.
//!
//! The API's default decides whether a model thinks; `effort` steers it.

mod api;
mod assemble;
mod client;
mod effort;
mod request;
mod stream;

pub use client::Anthropic;
pub(super) use client::DEFAULT_BASE_URL;
