//! Each `tracing` event has a message text, not only fields.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Lit,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{Source, Tree, Violation, at};

/// Macros of `tracing` that log an event.
const EVENTS: [&str; 6] = ["trace", "debug", "info", "warn", "error", "event"];

/// Reports events without a message.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        Events { source, found: &mut found }.visit_file(&source.syntax);
    }
    found
}

struct Events<'a> {
    source: &'a Source,
    found: &'a mut Vec<Violation>,
}

impl Events<'_> {
    fn judge(&mut self, line: usize, arguments: &TokenStream) {
        if !has_message(arguments) {
            let what = "an event without a message: write what happened, as a text after the fields";
            self.found.push(at(&self.source.path, line, what));
        }
    }

    /// Finds events in a macro's arguments. They are unparsed tokens: `tracing::warn!` followed by a group is an event.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            if let [.., TokenTree::Ident(from), _, _, TokenTree::Ident(name), TokenTree::Punct(bang)] =
                &tokens[..index]
                && from == "tracing"
                && bang.as_char() == '!'
                && EVENTS.iter().any(|event| name == event)
            {
                self.judge(name.span().start().line, &group.stream());
            }
            self.scan(group.stream());
        }
    }
}

impl<'ast> Visit<'ast> for Events<'_> {
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let path: Vec<_> = call.path.segments.iter().map(|segment| &segment.ident).collect();
        if let [from, name] = &path[..]
            && *from == "tracing"
            && EVENTS.iter().any(|event| *name == event)
        {
            self.judge(call.span().start().line, &call.tokens);
        }
        self.scan(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

/// Returns `true` if an argument is a string literal that is neither the name nor the value of a field.
fn has_message(arguments: &TokenStream) -> bool {
    let tokens: Vec<_> = arguments.clone().into_iter().collect();
    let is =
        |token: &TokenTree, wanted: char| matches!(token, TokenTree::Punct(it) if it.as_char() == wanted);
    tokens.split(|token| is(token, ',')).any(|argument| match argument {
        [TokenTree::Literal(text), rest @ ..] => {
            let is_text = matches!(Lit::new(text.clone()), Lit::Str(_));
            is_text && !rest.first().is_some_and(|next| is(next, '='))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    fn lines(body: &str) -> Vec<String> {
        let found = check(&planted(&[("a/src/lib.rs", &format!("//! x\nfn f() {{\n{body}\n}}\n"))]));
        found.iter().map(|line| line.splitn(3, ':').take(2).collect::<Vec<_>>().join(":")).collect()
    }

    #[test]
    fn event_without_a_message_is_reported() {
        for body in [
            "tracing::warn!(run = %id, failure);",
            "tracing::error!(\"name\" = 1);",
            "tracing::info!(why = \"a value\");",
            "select!(_ = work => { tracing::warn!(%error); });",
        ] {
            assert_eq!(lines(body), ["a/src/lib.rs:3"], "{body}");
        }
    }

    #[test]
    fn text_argument_is_a_message() {
        for body in [
            "tracing::warn!(\"said\");",
            "tracing::warn!(run = %id, \"{failure}\");",
            "tracing::info!(target: TARGET, why = \"a value\", \"said of {}\", name(a, b));",
            "select!(_ = work => { tracing::warn!(%error, \"said\"); });",
            "println!();",
        ] {
            assert!(lines(body).is_empty(), "{body}");
        }
    }
}
