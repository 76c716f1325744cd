//! A `mod.rs` declares modules and re-exports their items, and contains no code.
//!
//! Code in a file named after its content is found by its name. `tests/architecture/mod_code.txt` lists the files that
//! still contain code. The list only shrinks.

use std::collections::BTreeSet;

use syn::Item;

use crate::{Source, Tree, Violation, at};

/// Files with code.
const LISTED: &str = "tests/architecture/mod_code.txt";

/// Names `mod.rs` files with code, and stale entries of the list.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut listed: BTreeSet<&str> = entries(tree).collect();
    let mut found = Vec::new();
    for source in tree.sources.iter().filter(|source| source.path.ends_with("/mod.rs")) {
        let Some(line) = first_code(source) else { continue };
        if !listed.remove(source.path.as_str()) {
            found.push(at(
                &source.path,
                line,
                "a `mod.rs` only declares and re-exports: move the code into a named file",
            ));
        }
    }
    found.extend(listed.iter().map(|path| format!("{LISTED}: {path} has no code: remove its entry")));
    found
}

fn entries(tree: &Tree) -> impl Iterator<Item = &str> {
    let lines = tree.text(LISTED).unwrap_or_default().lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the line of the first shipped item that is neither a module nor an import.
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

    #[test]
    fn list_only_shrinks() {
        let with = |text, list| check(&planted(&[("a/src/b/mod.rs", text), (LISTED, list)]));
        assert!(with("//! x\nconst X: u8 = 1;\n", "# why\na/src/b/mod.rs\n").is_empty());
        assert!(with("//! x\nmod a;\n", "a/src/b/mod.rs\n")[0].ends_with("remove its entry"));
    }
}
