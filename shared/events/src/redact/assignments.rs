//! Secrets that are given away by their name: `name = value` and `name: value`.
//!
//! Implements the "named assignments" row of bot supplement section 10. Names are split at `_` and `-`, and also
//! where camel case begins a word: `accessToken` is as common as `access_token`.
//!
//! Linear on any input: the scan goes from one separator to the next, looks back at most to the one before, and
//! continues behind a value it has read. It never starts over inside a long token.

use std::{borrow::Cow, ops::Range};

use super::PLACEHOLDER;

/// A part of a name that makes its value a secret.
const SECRET_WORDS: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "pwd",
    "credential",
    "credentials",
    "key",
    "apikey",
    "auth",
    "session",
    "sessionid",
    "cookie",
];
/// A part of a name that makes its value a message: `auth_error: connection reset`.
const ERROR_WORDS: &[&str] = &[
    "failed",
    "failure",
    "error",
    "errors",
    "refused",
    "rejected",
    "denied",
    "invalid",
    "missing",
    "expired",
    "revoked",
    "unset",
    "unknown",
    "unauthorized",
    "mismatch",
];
/// Shortest unquoted value that counts as a secret.
const BARE_MIN: usize = 4;
/// What may follow an unquoted value without being part of it.
const TRAILING: &[char] = &[',', ';', ')', '}', ']', '\\', '.'];

/// The text with the value of every secret name replaced.
pub(super) fn redact_assignments(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text.as_bytes()[at..].iter().position(|byte| matches!(byte, b'=' | b':')) {
        let separator = at + found;
        at = separator + 1;
        if !is_secret_name(name_before(text, separator)) {
            continue;
        }
        if let Some(value) = value_after(text, separator) {
            out.push_str(&text[copied..value.start]);
            out.push_str(PLACEHOLDER);
            copied = value.end;
            at = value.end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Whether what has this name is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let words = || name.split(['_', '-']).flat_map(|part| std::iter::once(part).chain(camel_words(part)));
    words().any(|word| is_listed(word, SECRET_WORDS)) && !words().any(|word| is_listed(word, ERROR_WORDS))
}

fn is_listed(word: &str, list: &[&str]) -> bool {
    list.iter().any(|listed| word.eq_ignore_ascii_case(listed))
}

/// `accessToken` as `access`, `Token`; `DBPassword` as `DB`, `Password`.
fn camel_words(part: &str) -> impl Iterator<Item = &str> {
    let mut rest = part;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let begins_word = |&at: &usize| {
            let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            bytes[at].is_ascii_uppercase() && (!bytes[at - 1].is_ascii_uppercase() || next_is_lower)
        };
        let (word, after) = rest.split_at((1..bytes.len()).find(begins_word).unwrap_or(rest.len()));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// The name that ends at the separator, without the quotes, brackets and blanks around it.
fn name_before(text: &str, separator: usize) -> &str {
    let head = text[..separator].strip_suffix(['?', '+']).unwrap_or(&text[..separator]);
    let head = head.trim_end_matches([' ', '\t']);
    let head = head.strip_suffix(']').unwrap_or(head);
    let head = match head.strip_suffix(['"', '\'', '`']) {
        Some(quoted) => quoted.trim_end_matches('\\'),
        None => head,
    };
    let before = head.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    &head[before.len()..]
}

/// Where the value assigned at the separator stands; none when nothing secret is assigned there.
fn value_after(text: &str, separator: usize) -> Option<Range<usize>> {
    let after = &text[separator + 1..];
    let after = match text.as_bytes()[separator] {
        // A path (`Token::new`) or the rest of one, and a URL's scheme.
        b':' if after.starts_with(':') || text[..separator].ends_with(':') || after.starts_with("//") => {
            return None;
        }
        b':' => after.strip_prefix('=').unwrap_or(after),
        // A comparison or a version (`token==1.2`).
        _ if after.starts_with('=') || text[..separator].ends_with('=') => return None,
        _ => after.strip_prefix('>').unwrap_or(after),
    };
    let value = after.trim_start_matches([' ', '\t']);
    // The password of a URL, already gone; what follows is the host.
    if value.strip_prefix(PLACEHOLDER).is_some_and(|rest| rest.starts_with('@')) {
        return None;
    }
    let start = text.len() - value.len();
    let within = match opening_quote(value) {
        Some(quote) => quoted(value, quote)?,
        None => 0..bare(value)?,
    };
    Some(start + within.start..start + within.end)
}

/// The range of an opening quote: up to two letters (`b"`, `rb'`) may stand before it, backslashes belong to it.
fn opening_quote(value: &str) -> Option<Range<usize>> {
    let letters = value.bytes().take_while(u8::is_ascii_alphabetic).count();
    let slashes = value[letters..].bytes().take_while(|&byte| byte == b'\\').count();
    let quote = letters + slashes;
    (letters <= 2 && value[quote..].starts_with(['"', '\'', '`'])).then_some(letters..quote + 1)
}

/// The range between a quote and the one that closes it, or the end of the line when that is missing.
///
/// A quote behind as many backslashes as the opening one, or fewer, closes; behind more it is part of the value.
fn quoted(value: &str, opening: Range<usize>) -> Option<Range<usize>> {
    let slashes = opening.len() - 1;
    let quote = value.as_bytes()[opening.end - 1];
    let mut run = 0;
    let mut end = value.len();
    for (at, byte) in value.bytes().enumerate().skip(opening.end) {
        let escaped = if slashes == 0 { run % 2 == 1 } else { run > slashes };
        if byte == b'\n' {
            end = at;
            break;
        } else if byte == quote && !escaped {
            end = at - if slashes == 0 { 0 } else { run };
            break;
        }
        run = if byte == b'\\' { run + 1 } else { 0 };
    }
    (end > opening.end).then_some(opening.end..end)
}

/// The length of an unquoted value: up to a blank, a quote or the next query parameter, without punctuation.
fn bare(value: &str) -> Option<usize> {
    let run = value.split(|c: char| c.is_whitespace() || "\"'`&".contains(c)).next().unwrap_or_default();
    let mut kept = run;
    while let Some(shorter) = kept.strip_suffix(TRAILING).filter(|_| !kept.ends_with(PLACEHOLDER)) {
        kept = shorter;
    }
    (kept.chars().count() >= BARE_MIN).then_some(kept.len())
}
