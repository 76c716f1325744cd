//! Fakes the `OpenAI` Chat Completions API, which compatible servers implement too.

mod checks;
mod render;
mod vendor;

pub use vendor::OpenAi;
