//! Diffs as a code host shows them, and the lines that it accepts comments on.

mod commit;
mod file;
mod parse;

pub use commit::Commit;
pub use file::{Change, Diff, FileDiff, Hunk, Rejected, Side};
pub use parse::{parse_unified, read_patch, unquoted};
