//! Habits of code that make a line hard to read: nested results, tuple lets, functions named `of`.
//!
//! The limits for rates are those of four code bases in the same field. Not here: language
//! (`language`) and sizes (`sizes`).

use proc_macro2::TokenTree;
use regex::Regex;

use super::language::pattern;
use crate::source::each_group;
use crate::{File, Source, Tree, Violation, at};

/// Maximum functions with the name `of`, per 1,000 functions.
const OF_FUNCTIONS_MAX: f64 = 1.0;
/// Maximum lets that bind two values from a tuple, per 1,000 lines.
const TUPLE_LETS_MAX: f64 = 0.3;
/// Functions or lines that a rate refers to.
const PER: f64 = 1_000.0;

/// Reports nested results in shipped code, and habits that are too frequent.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = of_functions(tree);
    found.extend(tuple_lets(tree));
    let shipped = tree
        .sources
        .iter()
        .filter(|source| !source.path.starts_with("tests/"));
    found.extend(shipped.flat_map(nested_results));
    found
}

fn of_functions(tree: &Tree) -> Vec<Violation> {
    let (function, named_of) = (pattern(r"\bfn \w+"), pattern(r"\bfn of\b"));
    let all = rust(tree).map(|file| function.find_iter(&file.text).count());
    let what = "functions are named `of`, which does not say what they return";
    over_rate(what, hits(tree, &named_of), all.sum(), OF_FUNCTIONS_MAX)
}

fn tuple_lets(tree: &Tree) -> Vec<Violation> {
    let binding = pattern(r"let \((?:mut )?\w+, (?:mut )?\w+\) = \([^()]*,[^()]*\);");
    let lines = rust(tree).map(|file| file.text.lines().count());
    let what = "lets bind two values from a tuple: write two lets";
    over_rate(what, hits(tree, &binding), lines.sum(), TUPLE_LETS_MAX)
}

/// Reports each `Result<Result<..>>`: an error enum and `?` need no second match.
fn nested_results(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    each_group(&source.tokens, &mut |tokens| {
        for (index, token) in tokens.iter().enumerate() {
            let line = token.span().start().line;
            if is_result(token) && opens_result(&tokens[index + 1..]) && !source.is_test_line(line)
            {
                let what = "`Result<Result<..>>`: use a single error enum";
                found.push(at(&source.path, line, what));
            }
        }
    });
    found
}

/// Returns whether the tokens are `<` and a path to `Result`.
fn opens_result(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(open), rest @ ..] = tokens else {
        return false;
    };
    let path = rest.iter().take_while(|token| match token {
        TokenTree::Ident(_) => true,
        TokenTree::Punct(punct) => punct.as_char() == ':',
        TokenTree::Group(_) | TokenTree::Literal(_) => false,
    });
    open.as_char() == '<' && path.last().is_some_and(is_result)
}

fn is_result(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(name) if name == "Result")
}

fn rust(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.with_path(|path| path.ends_with(".rs"))
}

/// Returns each match with the path and line.
fn hits(tree: &Tree, pattern: &Regex) -> Vec<Violation> {
    let mut found = Vec::new();
    for File { path, text } in rust(tree) {
        for hit in pattern.find_iter(text) {
            let line = text[..hit.start()].matches('\n').count() + 1;
            found.push(at(path, line, hit.as_str()));
        }
    }
    found
}

/// Returns the hits after a headline, if their rate is over the limit.
fn over_rate(what: &str, hits: Vec<Violation>, all: usize, limit: f64) -> Vec<Violation> {
    let rate = hits.len() as f64 * PER / all.max(1) as f64;
    if rate <= limit {
        return Vec::new();
    }
    let headline = format!("{rate:.1} in {PER}: {what}; the limit is {limit}");
    std::iter::once(headline).chain(hits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&planted(&[(path, &format!("//! A header.\n{text}"))]))
    }

    #[test]
    fn functions_named_of_are_reported_above_the_rate() {
        let found_in = |text: &str| found("a/src/lib.rs", text);
        let violations = found_in("struct A;\nimpl A { fn of() {} }\n");
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert!(
            violations[1].starts_with("a/src/lib.rs:3: "),
            "{violations:?}"
        );
        let others: String = (0..999)
            .map(|index| format!("fn f{index}() {{}}\n"))
            .collect();
        assert!(found_in(&format!("fn of() {{}}\n{others}")).is_empty());
        assert!(found_in("fn of_path() {}\n").is_empty());
    }

    #[test]
    fn tuple_lets_are_reported_above_the_rate() {
        let text = "fn f() {\n    let (a, mut b) = (1, 2);\n}\n";
        let violations = found("a/src/lib.rs", text);
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert!(
            violations[1].starts_with("a/src/lib.rs:3: "),
            "{violations:?}"
        );
        let lines = "// A line.\n".repeat(4_000);
        assert!(found("a/src/lib.rs", &format!("{text}{lines}")).is_empty());
        let call = "fn f() {\n    let (a, b) = channel(1, 2);\n}\n";
        assert!(found("a/src/lib.rs", call).is_empty());
    }

    #[test]
    fn nested_results_in_shipped_code_are_reported() {
        for nested in [
            "Result<Result<(), A>, B>",
            "Option<Result<std::result::Result<(), A>, B>>",
            "io::Result<\n    Result<(), A>>",
        ] {
            let text = format!("fn f() -> {nested} {{}}\n");
            let violations = found("a/src/lib.rs", &text);
            assert_eq!(violations.len(), 1, "{nested}: {violations:?}");
            assert!(
                violations[0].starts_with("a/src/lib.rs:2: "),
                "{violations:?}"
            );
            assert!(found("a/tests/main.rs", &text).is_empty());
            assert!(found("tests/drills/src/lib.rs", &text).is_empty());
        }
        for plain in [
            "Result<Option<Result<(), A>>, B>",
            "Result<(), Result<A, B>>",
            "Result<ars::Results, A>",
        ] {
            let text = format!("fn f() -> {plain} {{}}\n");
            assert!(found("a/src/lib.rs", &text).is_empty(), "{plain}");
        }
    }
}
