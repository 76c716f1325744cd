//! Markdown that a model wrote, as Slack's markup.
//!
//! Not here: text that people wrote (`text`), and cards, which show literal text (`card`).

mod chunks;
mod fence;
mod render;
mod table;

pub use chunks::{MAX_CHUNK_CHARS, chunks};
pub use render::to_mrkdwn;
