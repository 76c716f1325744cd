//! What a review run leaves beside its answer: its verdict, the answer's first line, and a diff for people to read
//! (bot supplement section 17).
//!
//! Not here: posting to a code host, the head guard and the abridged diff.

mod first_line;
mod range;
mod reading_diff;
mod verdict;

pub use first_line::lead_with;
pub(crate) use range::{Base, git_of_range};
pub use reading_diff::reading_diff;
pub use verdict::{Decision, Verdict, VerdictSlot};
