//! The part of a run's conversation that the model receives, which always fits the model's window.
//!
//! Not here: when the loop compacts (`run_loop/fit.rs`), and storing the whole conversation
//! (`resume`).

mod conversation;
mod estimate;
mod limit;
mod oversize;
mod trim;

pub use estimate::{DOCUMENT_TOKENS, IMAGE_TOKENS, estimate_text, estimate_turns};
pub use limit::ContextLimit;
pub use oversize::{Kept, is_oversized, referenced};

pub(crate) use conversation::{Conversation, Shape, summary_chars};
pub(crate) use estimate::estimate_parts;
pub(crate) use limit::Measure;
