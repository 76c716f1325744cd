//! A `mod.rs` declares modules and re-exports their items, and contains no code.
//!
//! Code in a file named after its content is found by name. A module with code and children is
//! `x.rs` beside the folder `x`: `registry.rs` defines the registry, and `registry/` its parts.

use syn::Item;

use crate::{Source, Tree, Violation, at};

/// Names `mod.rs` files with code.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let files = tree
        .sources
        .iter()
        .filter(|source| source.path.ends_with("/mod.rs"));
    let what = "a `mod.rs` only declares and re-exports: move the code into a named file";
    files
        .filter_map(|source| Some(at(&source.path, first_code(source)?, what)))
        .collect()
}

/// Returns the line with the first shipped item that is neither a module nor an import.
fn first_code(source: &Source) -> Option<usize> {
    let code = source.syntax.items.iter().filter(|item| match item {
        Item::Mod(module) => module.content.is_some(),
        Item::Use(_) | Item::ExternCrate(_) => false,
        _ => true,
    });
    code.map(line_of).find(|line| !source.is_test_line(*line))
}

fn line_of(item: &Item) -> usize {
    syn::spanned::Spanned::span(item).start().line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn code_in_mod_rs_is_named() {
        let clean = "//! x\nmod a;\npub use a::A;\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        let tree = planted(&[
            ("a/src/b/mod.rs", "//! x\nmod a;\nconst X: u8 = 1;\n"),
            ("a/src/c/mod.rs", clean),
            ("a/src/d.rs", "//! x\nconst X: u8 = 1;\n"),
            ("a/tests/support/mod.rs", "//! x\nfn x() {}\n"),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a/src/b/mod.rs:3: "));
    }
}
