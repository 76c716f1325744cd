//! No `todo!` and no `unimplemented!`, in tests neither.
//!
//! Clippy denies them too, but not in code that it does not compile and not in the arguments of macros.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Macro, spanned::Spanned};

use crate::{Tree, Violation, at};

/// Macros that stand for missing code.
const PLACEHOLDERS: [&str; 2] = ["todo", "unimplemented"];

/// Reports placeholders.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        Placeholders { path: &source.path, found: &mut found }.visit_file(&source.syntax);
    }
    found
}

struct Placeholders<'a> {
    path: &'a str,
    found: &'a mut Vec<Violation>,
}

impl Placeholders<'_> {
    fn note(&mut self, name: &str, line: usize) {
        if PLACEHOLDERS.contains(&name) {
            self.found.push(at(
                self.path,
                line,
                format!("`{name}!` is a promise: write the code, or refuse"),
            ));
        }
    }

    /// Scans a macro's arguments, which have no syntax: a name, `!` and a group are a macro.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for three in tokens.windows(3) {
            if let [TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(_)] = three
                && mark.as_char() == '!'
            {
                self.note(&name.to_string(), name.span().start().line);
            }
        }
        for token in tokens {
            if let TokenTree::Group(group) = token {
                self.scan(group.stream());
            }
        }
    }
}

impl<'ast> Visit<'ast> for Placeholders<'_> {
    fn visit_macro(&mut self, call: &'ast Macro) {
        if let Some(last) = call.path.segments.last() {
            self.note(&last.ident.to_string(), call.span().start().line);
        }
        self.scan(call.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn placeholders_are_reported() {
        let text = "//! todo!()\nfn a() { todo!() }\nfn b() { std::unimplemented!(\"x\") }\n\
            fn c() { assert!(matches!(d(), Some(_) if todo!())); }\n\
            fn fine() { let todo = 1; assert!(todo != 2, \"todo!()\"); }\n";
        let found = check(&planted(&[("a/src/lib.rs", text)]));
        let lines: Vec<_> = found.iter().map(|text| text.split(':').nth(1).unwrap()).collect();
        assert_eq!(lines, ["2", "3", "4"]);
    }
}
