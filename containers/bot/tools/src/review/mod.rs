//! The artifacts of a review: its verdict, the answer's first line, and a diff for people to read
//! (docs/reference/agents-and-tools.md#reviews).
//!
//! Not here: posting to a code host and the abridged diff.

mod concurrently;
mod first_line;
mod observed_head;
mod range;
mod reading_diff;
mod verdict;

pub use concurrently::concurrently;
pub use first_line::{End, prepend_status_line};
pub use observed_head::observed_head;
pub(crate) use range::{Base, git_of_range};
pub use reading_diff::reading_diff;
pub use verdict::{Decision, Verdict, VerdictSlot};
