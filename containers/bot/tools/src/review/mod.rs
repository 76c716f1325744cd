//! A review's verdict, range and reading diff (docs/reference/agents-and-tools.md#reviews).
//!
//! The reading diff is for people. Not here: posting to a code host, and abridging that diff.

mod concurrently;
mod observed_head;
mod range;
mod reading_diff;
mod verdict;

pub use ars_codehost::review::{Decision, End, Verdict, prepend_status_line};
pub use concurrently::concurrently;
pub use observed_head::observed_head;
pub(crate) use range::{Base, git_of_range};
pub use reading_diff::reading_diff;
pub use verdict::{Remarks, VerdictSlot};
