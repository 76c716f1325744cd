//! Every crate contains code.

use syn::Item;

use crate::{Graph, Source, Tree, Violation};

/// Reports crates without code.
pub fn check(tree: &Tree, graph: &Graph) -> Vec<Violation> {
    let folders: Vec<_> = graph
        .members
        .iter()
        .map(|member| format!("{}/", member.folder))
        .collect();
    let empty = folders.iter().filter(|folder| {
        // A crate inside another crate's folder (xtask/workerd) is not part of that crate.
        let inner: Vec<_> = folders
            .iter()
            .filter(|other| other.len() > folder.len() && other.starts_with(*folder))
            .collect();
        let own = |source: &&Source| {
            source.path.starts_with(*folder)
                && !inner.iter().any(|other| source.path.starts_with(*other))
        };
        !tree
            .sources
            .iter()
            .filter(own)
            .any(|source| source.syntax.items.iter().any(says_something))
    });
    empty
        .map(|folder| format!("{folder} holds no code: remove the crate until it does"))
        .collect()
}

fn says_something(item: &Item) -> bool {
    match item {
        Item::Fn(function) => !function.block.stmts.is_empty(),
        Item::Mod(module) => module
            .content
            .as_ref()
            .is_some_and(|(_, items)| items.iter().any(says_something)),
        Item::Use(_) | Item::ExternCrate(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::planted as graph;
    use crate::tree::planted;

    #[test]
    fn crate_without_code_is_reported() {
        let tree = planted(&[
            ("a/src/main.rs", "//! x\nfn main() {}\n"),
            ("a/inner/src/lib.rs", "//! x\npub struct S;\n"),
            ("b/src/lib.rs", "//! x\nmod c;\npub use c::f;\n"),
            ("b/src/c.rs", "//! x\npub fn f() -> u8 { 1 }\n"),
        ]);
        let found = check(&tree, &graph(&[("a", &[]), ("a/inner", &[]), ("b", &[])]));
        assert_eq!(found, ["a/ holds no code: remove the crate until it does"]);
    }
}
