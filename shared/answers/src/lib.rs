//! The form of a run's answer: canonical Markdown, and answers in blocks.
//!
//! Not here: the markup of a channel (`ars-slack`), and when an answer is written (`ars-agent`).

mod blocks;
mod canonical;

pub use blocks::{INSTRUCTIONS, InvalidBlocks, MAX_REASKS, REASK, read, read_within};
pub use canonical::canonical;
