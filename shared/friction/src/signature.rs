//! What a finding is about, with what differs from run to run folded away: two findings of one category and one
//! signature are one pattern (bot supplement section 7, "a pattern").

use crate::{diagnosis::Category, install::installer};

/// Most characters of a signature: it goes into titles and keys.
const MAX_CHARS: usize = 80;
/// Most characters that are looked at; an event's summary has 200 (bot supplement section 9).
const MAX_READ: usize = 400;
/// A word of this many hexadecimal digits is a commit or a digest.
const MIN_HASH: usize = 7;

/// The signature of a finding.
pub(crate) fn signature(category: Category, tool: Option<&str>, summary: &str) -> String {
    let Some(tool) = tool else { return fold(summary) };
    // The analyzer writes `<tool> <what happened>: <call>`; other writers' summaries are taken whole.
    let said = summary.strip_prefix(tool).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(summary);
    let (what, call) = said.split_once(": ").unwrap_or((said, said));
    let call = call.strip_prefix(tool).unwrap_or(call).trim_start_matches("$ ");
    let about = match category {
        // A dead sandbox is the same whatever it ran.
        Category::InfraFailure => fold(what),
        Category::SetupInstall => installer(call).map_or_else(|| fold(call), str::to_owned),
        _ => fold(call),
    };
    let signature = if about.is_empty() { tool.to_owned() } else { format!("{tool}: {about}") };
    signature.chars().take(MAX_CHARS).collect()
}

/// Numbers, hashes, paths and quoted text become placeholders, runs of blanks one blank.
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

/// Digits and letters of a hexadecimal number, dashes as in a UUID; words and numbers are not.
fn is_hash(word: &str) -> bool {
    word.len() >= MIN_HASH
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Quoted text as a placeholder. An apostrophe inside a word quotes nothing.
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
    fn what_differs_from_run_to_run_is_folded() {
        for (text, expected) in [
            ("sleep  30", "sleep #"),
            ("cat src/a.rs /etc/x", "cat {path} {path}"),
            ("git show 1a2b3c4d", "git show {hash}"),
            ("run 0192f0c1-7b1e-7aaa-8000-00000000000f.", "run {hash}"),
            ("grep \"a b\" --dir=x/y --n=12", "grep {text} --dir={path} --n=#"),
            ("it didn't answer 'the call'", "it didn't answer {text}"),
            ("test_12 v1.2.30 deadbeef facade", "test_# v#.#.# deadbeef facade"),
            ("an open 'quote never ends", "an open {text}"),
        ] {
            assert_eq!(fold(text), expected);
        }
        assert_eq!(fold(&"é".repeat(1000)).chars().count(), MAX_CHARS);
    }

    #[test]
    fn signatures_name_the_tool_and_the_call() {
        for (category, tool, summary, expected) in [
            (
                Category::FailedTool,
                Some("bash"),
                "bash failed after a long time: $ make t-1",
                "bash: make t-#",
            ),
            (Category::FailedTool, Some("bash"), "bash failed: $ make t-2", "bash: make t-#"),
            (Category::SlowTool, Some("read"), "read was slow: read src/a", "read: {path}"),
            (Category::SetupInstall, Some("bash"), "bash installed: $ cd a && npm ci --x", "bash: npm ci"),
            (Category::InfraFailure, Some("bash"), "bash never answered: $ make", "bash: never answered"),
            (Category::FailedTool, Some("bash"), "bash failed", "bash: failed"),
            (Category::FailedTool, Some("bash"), "of another age", "bash: of another age"),
            (Category::WrapUp, None, "the run was told to wrap up", "the run was told to wrap up"),
        ] {
            assert_eq!(signature(category, tool, summary), expected);
        }
    }
}
