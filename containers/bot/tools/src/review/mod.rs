//! The artifacts of a review: its verdict, the answer's first line, and a diff for people to read
//! (docs/reference/agents-and-tools.md#reviews).
//!
//! Not here: posting to a code host and the abridged diff.

mod beside;
mod first_line;
mod observed_head;
mod range;
mod reading_diff;
mod verdict;

pub use beside::beside;
pub use first_line::{End, lead_with};
pub use observed_head::observed_head;
pub(crate) use range::{Base, git_of_range};
pub use reading_diff::reading_diff;
pub use verdict::{Decision, Verdict, VerdictSlot};
