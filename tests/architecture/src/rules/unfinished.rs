//! No `todo!` and no `unimplemented!`, in tests neither.
//!
//! Clippy denies them too, but not in code that it does not compile and not in macro arguments.

use proc_macro2::TokenTree;

use crate::source::each_group;
use crate::{Tree, Violation, at};

/// Macros that stand for missing code.
const PLACEHOLDERS: [&str; 2] = ["todo", "unimplemented"];

/// Reports placeholders: such a name, `!` and a group, in macro arguments too.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        each_group(&source.tokens, &mut |tokens| {
            for three in tokens.windows(3) {
                if let [
                    TokenTree::Ident(name),
                    TokenTree::Punct(mark),
                    TokenTree::Group(_),
                ] = three
                    && mark.as_char() == '!'
                    && PLACEHOLDERS.iter().any(|placeholder| name == placeholder)
                {
                    let what = format!("`{name}!` is a promise: write the code, or refuse");
                    found.push(at(&source.path, name.span().start().line, what));
                }
            }
        });
    }
    found
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
        let lines: Vec<_> = found
            .iter()
            .map(|text| text.split(':').nth(1).unwrap())
            .collect();
        assert_eq!(lines, ["2", "3", "4"]);
    }
}
