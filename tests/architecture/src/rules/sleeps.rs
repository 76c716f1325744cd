//! Tests wait for conditions, not for time: a test may sleep only in a loop that checks a
//! condition.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, spanned::Spanned};

use crate::{Source, Tree, Violation, at};

/// Reports sleeps in tests outside a loop.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in tree
        .sources
        .iter()
        .filter(|source| !source.test_lines.is_empty())
    {
        Sleeps {
            source,
            loops: 0,
            found: &mut found,
        }
        .visit_file(&source.syntax);
    }
    found
}

struct Sleeps<'a> {
    source: &'a Source,
    loops: usize,
    found: &'a mut Vec<Violation>,
}

impl Sleeps<'_> {
    fn note(&mut self, line: usize) {
        if self.loops == 0 && self.source.is_test_line(line) {
            let what = "a test that sleeps is slow or flaky: wait for the condition, in a loop";
            self.found.push(at(&self.source.path, line, what));
        }
    }

    /// Scans a macro's arguments, which have no syntax: `sleep` followed by arguments is a call.
    fn scan(&mut self, tokens: TokenStream) {
        let mut after_sleep = false;
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    if after_sleep && group.delimiter() == proc_macro2::Delimiter::Parenthesis {
                        self.note(group.span().start().line);
                    }
                    self.scan(group.stream());
                    after_sleep = false;
                }
                TokenTree::Ident(ident) => after_sleep = ident == "sleep",
                TokenTree::Punct(_) | TokenTree::Literal(_) => after_sleep = false,
            }
        }
    }
}

impl<'ast> Visit<'ast> for Sleeps<'_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        let looping = matches!(expr, Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_));
        self.loops += usize::from(looping);
        visit::visit_expr(self, expr);
        self.loops -= usize::from(looping);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(path) = &*call.func
            && path
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "sleep")
        {
            self.note(call.span().start().line);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.scan(call.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn sleep_outside_a_loop_is_reported() {
        let text = "//! x\nfn shipped() { sleep(SECOND); }\n#[cfg(test)]\nmod tests {\nfn a() { std::thread::sleep(SECOND); }\n\
            fn b() { loop { if done() { break; } sleep(SHORT); } }\nfn c() { select!(_ = sleep(SECOND) => {}); }\n}\n";
        let found = check(&planted(&[("a/src/lib.rs", text)]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a/src/lib.rs:5:") && found[1].starts_with("a/src/lib.rs:7:"));
    }
}
