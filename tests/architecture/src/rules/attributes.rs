//! Lints are expected with a reason, never allowed; no test is ignored.
//!
//! An `expect` that is no longer needed is reported, an `allow` never is. Clippy checks the same, but not in attributes
//! inside macros or in code that it does not compile.

use syn::visit::Visit;
use syn::{Attribute, spanned::Spanned};

use crate::source::names;
use crate::{Tree, Violation, at};

/// Reports `allow`, `expect` without a reason, and `ignore`.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        Attributes {
            path: &source.path,
            found: &mut found,
        }
        .visit_file(&source.syntax);
    }
    found
}

struct Attributes<'a> {
    path: &'a str,
    found: &'a mut Vec<Violation>,
}

impl<'ast> Visit<'ast> for Attributes<'_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let tokens = match &attribute.meta {
            syn::Meta::List(list) => list.tokens.clone(),
            _ => proc_macro2::TokenStream::new(),
        };
        let conditional = attribute.path().is_ident("cfg_attr");
        let is =
            |name: &str| attribute.path().is_ident(name) || (conditional && names(&tokens, name));
        let what = if is("allow") {
            "`allow` outlives its need: use `expect`, with a reason"
        } else if is("expect") && !names(&tokens, "reason") {
            "`expect` needs a `reason`"
        } else if is("ignore") {
            "an ignored test proves nothing: make it run, or remove it"
        } else {
            return;
        };
        self.found
            .push(at(self.path, attribute.span().start().line, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn unreasoned_attributes_are_reported() {
        let text = "//! x\n#![allow(dead_code)]\n#[expect(dead_code)]\nfn a() {}\n#[test]\n#[ignore]\nfn b() {}\n\
            #[test]\n#[ignore = \"slow\"]\nfn c() {}\n#[cfg_attr(test, allow(dead_code))]\nfn d() {}\n\
            #[expect(dead_code, reason = \"x\")]\nfn fine() { struct allow; }\n";
        let found = check(&planted(&[("a/src/lib.rs", text)]));
        let lines: Vec<_> = found
            .iter()
            .map(|text| text.split(':').nth(1).unwrap())
            .collect();
        assert_eq!(lines, ["2", "3", "6", "9", "11"]);
    }
}
