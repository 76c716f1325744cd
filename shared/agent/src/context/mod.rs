//! What of a run's conversation its model is shown, so that it always fits the model's window.
//!
//! Not here: when the loop compacts (`run_loop/fit.rs`), and how the whole conversation is stored (`resume`).
//! The specification names no such bound; what is shown keeps to bot supplement section 14.

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
