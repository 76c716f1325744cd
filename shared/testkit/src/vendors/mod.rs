//! Fake model vendors on a real socket that answer from a script and validate every request.

mod anthropic;
mod body;
mod fakes;
mod openai;
mod reply;
mod server;

pub use anthropic::Anthropic;
pub use fakes::{FakeAnthropic, FakeOpenAi};
pub use openai::OpenAi;
pub use reply::{Block, Reply, Tokens};
pub use server::{Captured, Fake, Vendor};
