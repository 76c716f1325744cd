//! The language of comments and test names: rates of certain words, and lengths of names.
//!
//! The limits are about twice the highest rate of four code bases of the same field. Standard terms replace most uses
//! of these words (docs/glossary.md). Not here: commit subjects.

use regex::Regex;

use crate::{File, Tree, Violation, at};

/// Patterns with their maximum uses per 10,000 words of comments.
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
/// Words per rate.
const PER: f64 = 10_000.0;
/// Maximum words of a test's name.
const NAME_WORDS: usize = 12;
/// Maximum mean words of the tests' names.
const MEAN_WORDS: f64 = 7.5;
/// Lines after a test attribute that may hold the function.
const LINES_TO_NAME: usize = 4;
/// Lines that a violation quotes.
const QUOTED: usize = 40;

/// A line of a comment.
struct Comment<'a> {
    path: &'a str,
    line: usize,
    text: String,
}

/// Reports words that are too frequent, and names that are too long.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = words(&comments(tree));
    found.extend(names(tree));
    found
}

fn comments(tree: &Tree) -> Vec<Comment<'_>> {
    let comment = pattern(r"(?:^|\s)//[/!]?\s?(.*)$");
    let mut found = Vec::new();
    for File { path, text } in tree.with_path(is_code) {
        for (index, line) in text.lines().enumerate() {
            if let Some(captures) = comment.captures(line) {
                found.push(Comment { path, line: index + 1, text: captures[1].to_owned() });
            }
        }
    }
    found
}

fn is_code(path: &str) -> bool {
    [".rs", ".js", ".ts"].iter().any(|ending| path.ends_with(ending))
}

fn words(comments: &[Comment<'_>]) -> Vec<Violation> {
    let word = pattern("[A-Za-z']+");
    let total = comments.iter().map(|comment| word.find_iter(&comment.text).count()).sum::<usize>().max(1);
    let mut found = Vec::new();
    for (words, limit) in RATES {
        let words_pattern = pattern(&format!(r"(?i)\b(?:{words})\b"));
        let hits: Vec<&Comment<'_>> = comments
            .iter()
            .flat_map(|comment| words_pattern.find_iter(&comment.text).map(move |_| comment))
            .collect();
        let rate = hits.len() as f64 * PER / total as f64;
        if rate > limit {
            found.push(format!(
                "`{words}`: {rate:.1} uses per 10,000 words of comments, the limit is {limit}"
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
        for (index, _) in lines.iter().enumerate().filter(|(_, line)| attribute.is_match(line)) {
            let after = lines.iter().enumerate().skip(index + 1).take(LINES_TO_NAME);
            let named = after.filter_map(|(at, line)| Some((at + 1, function.captures(line)?))).next();
            let Some((line, captures)) = named else { continue };
            let length = captures[1].split('_').count();
            count += 1;
            sum += length;
            if length > NAME_WORDS {
                let what = format!("the name of a test has {length} words, the limit is {NAME_WORDS}");
                found.push(at(path, line, what));
            }
        }
    }
    let mean = sum as f64 / count.max(1) as f64;
    if mean > MEAN_WORDS {
        found.push(format!("the names of tests have {mean:.1} words on average, the limit is {MEAN_WORDS}"));
    }
    found
}

/// Compiles a constant pattern; a broken one matches nothing, which the tests below notice.
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
        for comment in ["What it is.", "It Tells.", "As it is.", "Takes them.", "None of it."] {
            let text = format!("//! A header.\n/// {comment}\nfn f() {{}}\n");
            let found = found(&text);
            assert_eq!(found.len(), 2, "{comment}: {found:?}");
            assert!(found[1].starts_with("a/src/lib.rs:2: "), "{found:?}");
        }
    }

    #[test]
    fn rare_words_and_other_text_are_accepted() {
        let text = format!("//! What it is.\n//! {}\n", "A plain comment. ".repeat(300));
        assert!(found(&text).is_empty());
        assert!(found("//! A header.\nfn f() -> &'static str { \"what\" }\n").is_empty());
    }

    #[test]
    fn long_test_names_are_reported() {
        let long = ["x"; NAME_WORDS + 1].join("_");
        let found = found(&format!("//! A header.\n#[test]\nfn {long}() {{}}\n"));
        assert!(found[0].starts_with("a/src/lib.rs:3: "), "{found:?}");
        assert!(found[1].contains("on average"), "{found:?}");
    }
}
