//! Checks of the tree itself: who depends on whom, how large files are, what they must not contain.
//!
//! A rule is a function from a [`Tree`] or a [`Graph`] to what breaks it, so that it can be shown to fail on a
//! planted tree (the tests beside each rule) before it is believed on the real one (`tests/tree.rs`).
//! Not here: anything the compiler or clippy already checks.
#![forbid(unsafe_code)]

mod graph;
pub mod rules;
mod source;
mod tree;

pub use graph::{Graph, Member};
pub use source::Source;
pub use tree::{File, Tree};

/// One breach of a rule, worded for whoever has to mend it.
pub type Violation = String;

/// A breach at a line of a file.
fn at(path: &str, line: usize, what: impl std::fmt::Display) -> Violation {
    format!("{path}:{line}: {what}")
}
