//! Language in comments, texts and test names: word and sentence rates, name lengths, widths.
//!
//! The limits are about twice the highest rate in four code bases in the same field. Standard terms
//! replace most uses of these words (docs/glossary.md). A text is a string literal with a space in
//! shipped code: an error, a reply, a log message, a prompt. A doc comment's first line is the
//! summary, a single short sentence. Not here: commit subjects, and habits of code (`habits`).

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
/// The same for comments only: words that nominal style uses too often.
const COMMENT_RATES: [(&str, f64); 3] = [("of", 260.0), ("one|ones", 60.0), ("its", 60.0)];
/// Maximum sentences with two or more "of", in percent.
const CHAINS_MAX: f64 = 3.0;
/// Words up to which a text is no sentence.
const PHRASE_WORDS: usize = 3;
/// Maximum one-line doc comments with at most [`PHRASE_WORDS`] words, in percent.
const SHORT_DOCS_MAX: f64 = 10.0;
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
    let comments = comments(tree);
    let mut found = words("comments", &RATES, &comments);
    found.extend(words("comments", &COMMENT_RATES, &comments));
    found.extend(chains(&comments));
    found.extend(short_docs(tree));
    found.extend(words("texts", &RATES, &texts(tree)));
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

/// Reports sentences in which one "of" follows another, when there are too many.
fn chains(comments: &[Prose<'_>]) -> Vec<Violation> {
    let (end, of) = (pattern(r"[.!?]\s"), pattern(r"\bof\b"));
    let mut sentences = 0_usize;
    let mut chained = Vec::new();
    for comment in comments {
        let mut start = 0;
        let ends = end.find_iter(&comment.text).map(|end| end.end());
        for end in ends.chain([comment.text.len()]) {
            let sentence = &comment.text[start..end];
            start = end;
            if sentence.split_whitespace().count() <= PHRASE_WORDS {
                continue;
            }
            sentences += 1;
            if of.find_iter(sentence).count() > 1 {
                chained.push(at(comment.path, comment.line, sentence.trim()));
            }
        }
    }
    let what = "sentences have two or more `of`";
    over_share(what, chained, sentences, CHAINS_MAX)
}

/// Reports one-line doc comments that only repeat a name, when there are too many.
fn short_docs(tree: &Tree) -> Vec<Violation> {
    let mut count = 0_usize;
    let mut short = Vec::new();
    for File { path, text } in tree.with_path(|path| path.ends_with(".rs")) {
        let docs: Vec<Option<&str>> = text
            .lines()
            .map(|line| line.trim_start().strip_prefix("///"))
            .collect();
        for (index, doc) in docs.iter().enumerate() {
            let above = index.checked_sub(1).and_then(|above| docs[above]);
            let below = docs.get(index + 1).copied().flatten();
            let (Some(doc), None, None) = (doc, above, below) else {
                continue;
            };
            count += 1;
            if doc.split_whitespace().count() <= PHRASE_WORDS {
                short.push(at(path, index + 1, doc.trim()));
            }
        }
    }
    let what = format!("one-line doc comments have {PHRASE_WORDS} words or fewer");
    over_share(&what, short, count, SHORT_DOCS_MAX)
}

/// Returns the hits after a headline, if their share of all is over a limit in percent.
fn over_share(what: &str, hits: Vec<Violation>, all: usize, limit: f64) -> Vec<Violation> {
    let share = hits.len() as f64 * 100.0 / all.max(1) as f64;
    if share <= limit {
        return Vec::new();
    }
    let headline = format!("{share:.1} % of {what}, the limit is {limit} %");
    std::iter::once(headline)
        .chain(hits.into_iter().take(QUOTED))
        .collect()
}

fn words(kind: &str, rates: &[(&str, f64)], prose: &[Prose<'_>]) -> Vec<Violation> {
    let word = pattern("[A-Za-z']+");
    let total = prose
        .iter()
        .map(|line| word.find_iter(&line.text).count())
        .sum::<usize>()
        .max(1);
    let mut found = Vec::new();
    for (words, limit) in rates {
        let words_pattern = pattern(&format!(r"(?i)\b(?:{words})\b"));
        let hits: Vec<&Prose<'_>> = prose
            .iter()
            .flat_map(|line| words_pattern.find_iter(&line.text).map(move |_| line))
            .collect();
        let rate = hits.len() as f64 * PER / total as f64;
        if rate > *limit {
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

/// Compiles a constant pattern.
pub(super) fn pattern(text: &str) -> Regex {
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
            "It is the one.",
            "With its tail.",
            "A part of that.",
        ] {
            let text = format!("//! A header.\n// {comment}\nfn f() {{}}\n");
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
    fn chained_genitives_are_reported() {
        let filler = "//! A plain comment here.\n".repeat(90);
        let plain = format!("//! A header.\n{filler}// It is the end of a part. A part of it.\n");
        assert!(found(&plain).is_empty(), "{:?}", found(&plain));
        let chain = "// It is the end of a part of it.\n";
        let found = found(&format!("//! A header.\n{filler}{}", chain.repeat(3)));
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[1].starts_with("a/src/lib.rs:92: "), "{found:?}");
    }

    #[test]
    fn empty_doc_comments_are_reported() {
        let long = "/// Returns the length in bytes.\nfn f() {}\n".repeat(9);
        let short = "/// The length.\nfn g() {}\n";
        let two_lines = "/// The length.\n/// It is in bytes.\nfn h() {}\n".repeat(9);
        assert!(found(&format!("//! A header.\n{long}{short}{two_lines}")).is_empty());
        let found = found(&format!("//! A header.\n{short}{long}{short}"));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[1].starts_with("a/src/lib.rs:2: "), "{found:?}");
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
        let most = "x ".repeat(FIRST_LINE_MAX / 2);
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
