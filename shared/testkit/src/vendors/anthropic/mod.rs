//! Fakes the Anthropic Messages API.

mod checks;
mod render;
mod vendor;

pub use vendor::Anthropic;
