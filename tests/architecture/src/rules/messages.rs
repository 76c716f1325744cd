//! Each `tracing` event has a message text, not only fields.

use proc_macro2::{TokenStream, TokenTree};
use syn::Lit;

use crate::source::each_group;
use crate::{Tree, Violation, at};

/// `tracing` macros that log an event.
const EVENTS: [&str; 6] = ["trace", "debug", "info", "warn", "error", "event"];

/// Reports events without a message: a group after `tracing::warn!` and the like, in macros too.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        each_group(&source.tokens, &mut |tokens| {
            for six in tokens.windows(6) {
                if let [
                    TokenTree::Ident(from),
                    _,
                    _,
                    TokenTree::Ident(name),
                    TokenTree::Punct(bang),
                    arguments,
                ] = six
                    && let TokenTree::Group(arguments) = arguments
                    && from == "tracing"
                    && bang.as_char() == '!'
                    && EVENTS.iter().any(|event| name == event)
                    && !has_message(&arguments.stream())
                {
                    let what = "an event without a message: write what happened, as a text after the fields";
                    found.push(at(&source.path, name.span().start().line, what));
                }
            }
        });
    }
    found
}

/// Returns `true` if an argument is a string literal that is neither a field's name nor its value.
fn has_message(arguments: &TokenStream) -> bool {
    let tokens: Vec<_> = arguments.clone().into_iter().collect();
    let is = |token: &TokenTree, wanted: char| matches!(token, TokenTree::Punct(it) if it.as_char() == wanted);
    tokens
        .split(|token| is(token, ','))
        .any(|argument| match argument {
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
        let found = check(&planted(&[(
            "a/src/lib.rs",
            &format!("//! x\nfn f() {{\n{body}\n}}\n"),
        )]));
        found
            .iter()
            .map(|line| line.splitn(3, ':').take(2).collect::<Vec<_>>().join(":"))
            .collect()
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
