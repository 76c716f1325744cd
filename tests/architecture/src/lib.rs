//! Tree checks: dependency directions, sizes, forbidden content, language, documentation.
//!
//! A rule is a function from a [`Tree`] or a [`Graph`] to its violations, so that the tests beside
//! it can show that it fails on a planted tree before `tests/tree.rs` applies it to the real tree.
//! Not here: anything that the compiler or clippy already checks.
#![forbid(unsafe_code)]

mod graph;
pub mod rules;
mod source;
mod tree;

pub use graph::{Graph, Member};
pub use source::Source;
pub use tree::{File, Tree};

/// A rule violation, with the place and the remedy.
pub type Violation = String;

/// Returns a violation at a line in a file.
fn at(path: &str, line: usize, what: impl std::fmt::Display) -> Violation {
    format!("{path}:{line}: {what}")
}
