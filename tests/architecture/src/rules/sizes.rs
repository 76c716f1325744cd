//! No file has over 500 shipped lines, no function over 80.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::{Source, Tree, Violation, at};

/// Maximum lines in a file, without tests.
const FILE_LINES: usize = 500;
/// Maximum lines in a function, with braces.
const FUNCTION_LINES: usize = 80;

/// Reports files over the limit.
pub fn files(tree: &Tree) -> Vec<Violation> {
    let sizes = tree
        .sources
        .iter()
        .map(|source| (source, source.shipped_lines()));
    let long = sizes.filter(|(_, lines)| *lines > FILE_LINES);
    let what = |lines| format!("{lines} lines; the ceiling is {FILE_LINES}: split it");
    long.map(|(source, lines)| at(&source.path, 1, what(lines)))
        .collect()
}

/// Reports functions over the limit.
pub fn functions(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        Functions {
            source,
            found: &mut found,
        }
        .visit_file(&source.syntax);
    }
    found
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
        let tested = format!(
            "{}#[cfg(test)]\nmod t {{\n{}}}\n",
            long(500),
            "fn x() {}\n".repeat(50)
        );
        let tree = planted(&[
            ("a/src/lib.rs", &long(501)),
            ("a/src/b.rs", &tested),
            ("a/tests/c.rs", &long(900)),
        ]);
        let found = files(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a/src/lib.rs:1: 501 lines"));
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
