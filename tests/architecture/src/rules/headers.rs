//! Every Rust file opens with `//!`.

use crate::{Tree, Violation, at};

/// Reports files that open with anything else.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let silent = tree
        .sources
        .iter()
        .filter(|source| !source.first_line.starts_with("//! "));
    silent
        .map(|source| {
            at(
                &source.path,
                1,
                "the first line is not a `//!` that says what the file is",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn file_without_a_header_is_reported() {
        let tree = planted(&[
            ("a/src/lib.rs", "//! Says it.\n"),
            ("a/src/b.rs", "fn b() {}\n"),
            ("a/src/c.rs", ""),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a/src/b.rs:1:"));
    }
}
