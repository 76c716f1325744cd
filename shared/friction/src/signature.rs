//! A finding's subject without details that differ between runs.
//!
//! Findings with the same category and signature form a pattern.

use crate::{diagnosis::Category, install::installer};

/// Maximum length in characters of a signature, which is part of titles and keys.
const MAX_CHARS: usize = 80;
/// Maximum characters that are scanned; an event's summary has 200.
const MAX_READ: usize = 400;
/// Minimum hexadecimal digits in a commit or digest.
const MIN_HASH: usize = 7;

/// Returns a finding's signature.
pub(crate) fn signature(category: Category, tool: Option<&str>, summary: &str) -> String {
    let Some(tool) = tool else {
        return fold(summary);
    };
    // The analyzer writes `<tool> <event>: <call>`; other writers' summaries are used whole.
    let said = summary
        .strip_prefix(tool)
        .and_then(|rest| rest.strip_prefix(' '))
        .unwrap_or(summary);
    let (what, call) = said.split_once(": ").unwrap_or((said, said));
    let call = call
        .strip_prefix(tool)
        .unwrap_or(call)
        .trim_start_matches("$ ");
    let about = match category {
        // The command does not matter for a dead sandbox.
        Category::InfraFailure => fold(what),
        Category::SetupInstall => installer(call).map_or_else(|| fold(call), str::to_owned),
        _ => fold(call),
    };
    let signature = if about.is_empty() {
        tool.to_owned()
    } else {
        format!("{tool}: {about}")
    };
    signature.chars().take(MAX_CHARS).collect()
}

/// Replaces numbers, hashes, paths and quoted text with placeholders, and collapses blanks.
fn fold(text: &str) -> String {
    let mut folded = String::new();
    for word in unquoted(text).split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        match word.split_once('=') {
            Some((name, value)) => {
                fold_word(name, &mut folded);
                folded.push('=');
                fold_word(value, &mut folded);
            }
            None => fold_word(word, &mut folded),
        }
    }
    folded.chars().take(MAX_CHARS).collect()
}

fn fold_word(word: &str, folded: &mut String) {
    if word.contains('/') {
        folded.push_str("{path}");
    } else if is_hash(word.trim_matches(|c: char| !c.is_ascii_alphanumeric())) {
        folded.push_str("{hash}");
    } else {
        for c in word.chars() {
            if !c.is_ascii_digit() {
                folded.push(c);
            } else if !folded.ends_with('#') {
                folded.push('#');
            }
        }
    }
}

/// Returns whether the word is a hexadecimal number, possibly with dashes as in a UUID.
fn is_hash(word: &str) -> bool {
    word.len() >= MIN_HASH
        && word
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Replaces quoted text with a placeholder. An apostrophe inside a word is no quote.
fn unquoted(text: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut before = ' ';
    for c in text.chars().take(MAX_READ) {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && !before.is_alphanumeric() => {
                quote = Some(c);
                plain.push_str("{text}");
            }
            None => plain.push(c),
        }
        before = c;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_folded_away() {
        for (text, expected) in [
            ("sleep  30", "sleep #"),
            ("cat src/a.rs /etc/x", "cat {path} {path}"),
            ("git show 1a2b3c4d", "git show {hash}"),
            ("run 0192f0c1-7b1e-7aaa-8000-00000000000f.", "run {hash}"),
            (
                "grep \"a b\" --dir=x/y --n=12",
                "grep {text} --dir={path} --n=#",
            ),
            ("it didn't answer 'the call'", "it didn't answer {text}"),
            (
                "test_12 v1.2.30 deadbeef facade",
                "test_# v#.#.# deadbeef facade",
            ),
            ("an open 'quote never ends", "an open {text}"),
        ] {
            assert_eq!(fold(text), expected);
        }
        assert_eq!(fold(&"é".repeat(1000)).chars().count(), MAX_CHARS);
    }

    #[test]
    fn signature_names_tool_and_call() {
        for (category, tool, summary, expected) in [
            (
                Category::FailedTool,
                Some("bash"),
                "bash failed after a long time: $ make t-1",
                "bash: make t-#",
            ),
            (
                Category::FailedTool,
                Some("bash"),
                "bash failed: $ make t-2",
                "bash: make t-#",
            ),
            (
                Category::SlowTool,
                Some("read"),
                "read was slow: read src/a",
                "read: {path}",
            ),
            (
                Category::SetupInstall,
                Some("bash"),
                "bash installed: $ cd a && npm ci --x",
                "bash: npm ci",
            ),
            (
                Category::InfraFailure,
                Some("bash"),
                "bash never answered: $ make",
                "bash: never answered",
            ),
            (
                Category::FailedTool,
                Some("bash"),
                "bash failed",
                "bash: failed",
            ),
            (
                Category::FailedTool,
                Some("bash"),
                "of another age",
                "bash: of another age",
            ),
            (
                Category::WrapUp,
                None,
                "the run was asked to wrap up",
                "the run was asked to wrap up",
            ),
        ] {
            assert_eq!(signature(category, tool, summary), expected);
        }
    }
}
