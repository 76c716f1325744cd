//! No file has over 500 shipped lines, no function over 80.
//!
//! `tests/architecture/oversized.txt` lists the exceptions with their sizes (`lines path`). The list only shrinks: a
//! file may not exceed its entry, and an entry larger than its file must be lowered.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::{Source, Tree, Violation, at};

/// Maximum lines of a file, without tests.
const FILE_LINES: usize = 500;
/// Maximum lines of a function, with braces.
const FUNCTION_LINES: usize = 80;
/// List of exceptions.
const OVERSIZED: &str = "tests/architecture/oversized.txt";

/// Reports files over their limit, and entries that are larger than their file.
pub fn files(tree: &Tree) -> Vec<Violation> {
    let mut listed = entries(tree);
    let mut found = Vec::new();
    for source in &tree.sources {
        let lines = source.shipped_lines();
        let ceiling = listed.remove(source.path.as_str()).unwrap_or(FILE_LINES);
        if lines > ceiling {
            found.push(at(&source.path, 1, format!("{lines} lines; the ceiling is {ceiling}: split it")));
        } else if ceiling > FILE_LINES && lines < ceiling {
            found.push(format!(
                "{OVERSIZED}: {} is down to {lines} lines: lower or remove its entry",
                source.path
            ));
        }
    }
    found.extend(listed.keys().map(|path| format!("{OVERSIZED}: {path} is gone: remove its entry")));
    found
}

/// Reports functions over the limit.
pub fn functions(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        Functions { source, found: &mut found }.visit_file(&source.syntax);
    }
    found
}

fn entries(tree: &Tree) -> BTreeMap<&str, usize> {
    let lines = tree.text(OVERSIZED).unwrap_or_default().lines();
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(size, path)| Some((path, size.parse().ok()?)))
        .collect()
}

struct Functions<'a> {
    source: &'a Source,
    found: &'a mut Vec<Violation>,
}

impl Functions<'_> {
    fn measure(&mut self, name: &syn::Ident, block: &syn::Block) {
        let (first, last) = (name.span().start().line, block.span().end().line);
        let lines = last + 1 - first;
        if lines > FUNCTION_LINES && !self.source.is_test_line(first) {
            let what = format!("`{name}` has {lines} lines; the ceiling is {FUNCTION_LINES}");
            self.found.push(at(&self.source.path, first, what));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig.ident, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig.ident, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig.ident, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    fn long(lines: usize) -> String {
        format!("//! x\n{}", "const _: () = ();\n".repeat(lines - 1))
    }

    #[test]
    fn file_over_the_limit_is_reported() {
        let tested = format!("{}#[cfg(test)]\nmod t {{\n{}}}\n", long(500), "fn x() {}\n".repeat(50));
        let tree =
            planted(&[("a/src/lib.rs", &long(501)), ("a/src/b.rs", &tested), ("a/tests/c.rs", &long(900))]);
        let found = files(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a/src/lib.rs:1: 501 lines"));
    }

    #[test]
    fn the_list_of_oversized_files_only_shrinks() {
        let with = |lines, list| files(&planted(&[("a/src/lib.rs", &long(lines)), (OVERSIZED, list)]));
        assert!(with(600, "# why\n600 a/src/lib.rs\n").is_empty());
        assert!(with(601, "600 a/src/lib.rs\n")[0].contains("601 lines; the ceiling is 600"));
        assert!(with(599, "600 a/src/lib.rs\n")[0].contains("lower or remove"));
        assert!(with(10, "600 a/src/gone.rs\n")[0].contains("is gone"));
    }

    #[test]
    fn function_over_the_limit_is_reported() {
        let body = "let _ = 1;\n".repeat(80);
        let text = format!(
            "//! x\nfn a() {{\n{body}}}\nstruct S;\nimpl S {{ fn b() {{\n{body}}} }}\ntrait T {{ fn c() {{\n{body}}} fn d(); }}\n#[cfg(test)]\nfn e() {{\n{body}}}\n"
        );
        let found = functions(&planted(&[("a/src/lib.rs", &text)]));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("`a` has 82 lines"));
    }
}
