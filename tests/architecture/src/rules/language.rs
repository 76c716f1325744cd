//! Language in comments, texts and test names: word rates, name lengths, comment widths.
//!
//! The limits are about twice the highest rate in four code bases in the same field. Standard terms
//! replace most uses of these words (docs/glossary.md). A text is a string literal with a space in
//! shipped code: an error, a reply, a log message, a prompt. A doc comment's first line is the
//! summary, a single short sentence. Not here: commit subjects.

use proc_macro2::{TokenStream, TokenTree};
use regex::Regex;
use syn::Lit;

use crate::{File, Source, Tree, Violation, at};

/// Patterns with their maximum uses per 10,000 words in comments, and in texts.
const RATES: [(&str, f64); 9] = [
    ("what", 18.0),
    ("whose|whoever|whomever|nobody|somebody", 3.0),
    ("told|tells|tell", 3.0),
    ("says|said|say", 8.0),
    ("hear|heard|hears", 1.0),
    ("meanwhile|for good|by itself|of its own|as it is", 4.0),
    ("takes? (?:it|them|over|in)", 3.0),
    ("leave to|has leave|given leave", 0.5),
    ("nothing of|none of it|all of it", 1.0),
];
/// Words that a rate refers to.
const PER: f64 = 10_000.0;
/// Maximum words in a test's name.
const NAME_WORDS: usize = 12;
/// Maximum mean words in test names.
const MEAN_WORDS: f64 = 7.5;
/// Lines after a test attribute that may hold the function.
const LINES_TO_NAME: usize = 4;
/// Lines that a violation quotes.
const QUOTED: usize = 40;
/// Maximum columns in a comment line. The formatter wraps code, not comments.
const COMMENT_COLUMNS: usize = 126;
/// Maximum characters in a doc comment's first line, without the marker.
const FIRST_LINE_MAX: usize = 100;

/// A comment line, or a text.
struct Prose<'a> {
    path: &'a str,
    line: usize,
    text: String,
}

/// Reports words that are too frequent, comments that are too wide, and names that are too long.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = words("comments", &comments(tree));
    found.extend(words("texts", &texts(tree)));
    found.extend(wide_comments(tree));
    found.extend(long_first_lines(tree));
    found.extend(names(tree));
    found
}

fn comments(tree: &Tree) -> Vec<Prose<'_>> {
    let comment = pattern(r"(?:^|\s)//[/!]?\s?(.*)$");
    let mut found = Vec::new();
    for File { path, text } in tree.with_path(is_code) {
        for (index, line) in text.lines().enumerate() {
            if let Some(captures) = comment.captures(line) {
                found.push(Prose {
                    path,
                    line: index + 1,
                    text: captures[1].to_owned(),
                });
            }
        }
    }
    found
}

fn is_code(path: &str) -> bool {
    [".rs", ".js", ".ts"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// Returns the shipped code's texts, without format placeholders.
fn texts(tree: &Tree) -> Vec<Prose<'_>> {
    let placeholder = pattern(r"\{[^}]*\}");
    let mut found = Vec::new();
    for source in tree
        .sources
        .iter()
        .filter(|source| !source.path.starts_with("tests/"))
    {
        each_text(source, &source.tokens, &mut |line, text| {
            found.push(Prose {
                path: &source.path,
                line,
                text: placeholder.replace_all(text, " ").into_owned(),
            });
        });
    }
    found
}

/// Calls `found` with each string literal in shipped code that has a space. Doc comments are
/// attributes among the tokens.
fn each_text(source: &Source, tokens: &TokenStream, found: &mut impl FnMut(usize, &str)) {
    for token in tokens.clone() {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(group) => {
                let tokens = group.stream();
                let first = tokens.clone().into_iter().next();
                if !matches!(first, Some(TokenTree::Ident(name)) if name == "doc") {
                    each_text(source, &tokens, found);
                }
            }
            TokenTree::Literal(literal) if !source.is_test_line(line) => {
                if let Lit::Str(text) = Lit::new(literal)
                    && text.value().trim().contains(' ')
                {
                    found(line, &text.value());
                }
            }
            TokenTree::Literal(_) | TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

fn wide_comments(tree: &Tree) -> Vec<Violation> {
    let comment = pattern(r"^\s*//");
    let mut found = Vec::new();
    for File { path, text } in tree.with_path(is_code) {
        for (index, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| comment.is_match(line))
        {
            let columns = line.chars().count();
            // An address cannot be wrapped.
            if columns > COMMENT_COLUMNS && !line.contains("://") {
                let what =
                    format!("a comment has {columns} columns, the limit is {COMMENT_COLUMNS}");
                found.push(at(path, index + 1, what));
            }
        }
    }
    found
}

fn long_first_lines(tree: &Tree) -> Vec<Violation> {
    let doc = pattern(r"^\s*(///|//!) ?(.*)$");
    let mut found = Vec::new();
    for File { path, text } in tree.with_path(|path| path.ends_with(".rs")) {
        let mut previous = None;
        for (index, line) in text.lines().enumerate() {
            let captures = doc.captures(line);
            let marker = captures.as_ref().map(|captures| captures[1].to_owned());
            let characters = captures.map_or(0, |captures| captures[2].chars().count());
            if marker != previous && characters > FIRST_LINE_MAX {
                let what = format!(
                    "a first doc line has {characters} characters, the limit is {FIRST_LINE_MAX}"
                );
                found.push(at(path, index + 1, what));
            }
            previous = marker;
        }
    }
    found
}

fn words(kind: &str, prose: &[Prose<'_>]) -> Vec<Violation> {
    let word = pattern("[A-Za-z']+");
    let total = prose
        .iter()
        .map(|line| word.find_iter(&line.text).count())
        .sum::<usize>()
        .max(1);
    let mut found = Vec::new();
    for (words, limit) in RATES {
        let words_pattern = pattern(&format!(r"(?i)\b(?:{words})\b"));
        let hits: Vec<&Prose<'_>> = prose
            .iter()
            .flat_map(|line| words_pattern.find_iter(&line.text).map(move |_| line))
            .collect();
        let rate = hits.len() as f64 * PER / total as f64;
        if rate > limit {
            found.push(format!(
                "`{words}`: {rate:.1} uses per 10,000 words of {kind}, the limit is {limit}"
            ));
            let quoted = hits.iter().take(QUOTED);
            found.extend(quoted.map(|hit| at(hit.path, hit.line, hit.text.trim())));
        }
    }
    found
}

fn names(tree: &Tree) -> Vec<Violation> {
    let attribute = pattern(r"^\s*#\[(?:tokio::)?test");
    let function = pattern(r"^\s*(?:async )?fn (\w+)");
    let (mut found, mut count, mut sum) = (Vec::new(), 0_usize, 0_usize);
    for File { path, text } in tree.with_path(|path| path.ends_with(".rs")) {
        let lines: Vec<&str> = text.lines().collect();
        for (index, _) in lines
            .iter()
            .enumerate()
            .filter(|(_, line)| attribute.is_match(line))
        {
            let after = lines.iter().enumerate().skip(index + 1).take(LINES_TO_NAME);
            let named = after
                .filter_map(|(at, line)| Some((at + 1, function.captures(line)?)))
                .next();
            let Some((line, captures)) = named else {
                continue;
            };
            let length = captures[1].split('_').count();
            count += 1;
            sum += length;
            if length > NAME_WORDS {
                let what =
                    format!("the name of a test has {length} words, the limit is {NAME_WORDS}");
                found.push(at(path, line, what));
            }
        }
    }
    let mean = sum as f64 / count.max(1) as f64;
    if mean > MEAN_WORDS {
        found.push(format!(
            "the names of tests have {mean:.1} words on average, the limit is {MEAN_WORDS}"
        ));
    }
    found
}

/// Compiles a constant pattern; a broken pattern matches nothing, which the tests below notice.
fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    fn found(text: &str) -> Vec<String> {
        check(&planted(&[("a/src/lib.rs", text)]))
    }

    #[test]
    fn frequent_words_are_reported_with_their_lines() {
        for comment in [
            "What it is.",
            "It Tells.",
            "As it is.",
            "Takes them.",
            "None of it.",
        ] {
            let text = format!("//! A header.\n/// {comment}\nfn f() {{}}\n");
            let found = found(&text);
            assert_eq!(found.len(), 2, "{comment}: {found:?}");
            assert!(found[1].starts_with("a/src/lib.rs:2: "), "{found:?}");
        }
    }

    #[test]
    fn rare_words_and_other_text_are_accepted() {
        let text = format!("//! What it is.\n{}", "//! A plain comment.\n".repeat(300));
        assert!(found(&text).is_empty());
        assert!(found("//! A header.\nfn f() -> &'static str { \"what\" }\n").is_empty());
    }

    #[test]
    fn texts_of_shipped_code_are_measured() {
        let text = "//! A header.\nfn f() { g(\"it was told so {what}\") }\n";
        let found = found(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].starts_with("a/src/lib.rs:2: "), "{found:?}");
        let test =
            "//! A header.\n#[cfg(test)]\nmod t {\n    const C: &str = \"it was told so\";\n}\n";
        assert!(super::texts(&planted(&[("a/src/lib.rs", test)])).is_empty());
    }

    #[test]
    fn wide_comments_are_reported() {
        let long = "x".repeat(COMMENT_COLUMNS);
        assert_eq!(found(&format!("//! A header.\n    // {long}\n")).len(), 1);
        assert!(found(&format!("//! A header.\n//! https://{long}\n")).is_empty());
        assert!(found(&format!("//! A header.\nconst C: &str = \"{long}\";\n")).is_empty());
    }

    #[test]
    fn long_first_lines_are_reported() {
        let most = "x".repeat(FIRST_LINE_MAX);
        for text in [
            format!("//! {most}x\n"),
            format!("//! A header.\n    /// {most}x\n    fn f() {{}}\n"),
        ] {
            assert_eq!(found(&text).len(), 1, "{text}");
        }
        assert!(found(&format!("//! {most}\n//! {most}x\n")).is_empty());
        assert!(
            found(&format!(
                "//! A header.\n// {most}x\nconst C: &str = \"/// {most}x\";\n"
            ))
            .is_empty()
        );
    }

    #[test]
    fn long_test_names_are_reported() {
        let long = ["x"; NAME_WORDS + 1].join("_");
        let found = found(&format!("//! A header.\n#[test]\nfn {long}() {{}}\n"));
        assert!(found[0].starts_with("a/src/lib.rs:3: "), "{found:?}");
        assert!(found[1].contains("on average"), "{found:?}");
    }
}
