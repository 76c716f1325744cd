//! The fakes by vendor.

use super::{Anthropic, Fake, OpenAi};

/// The Anthropic Messages API.
pub type FakeAnthropic = Fake<Anthropic>;
/// The `OpenAI` Chat Completions API.
pub type FakeOpenAi = Fake<OpenAi>;
