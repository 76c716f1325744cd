//! Secrets that are recognized by name: `name = value` and `name: value`.
//!
//! Names are split at `_` and `-`, and where camel case begins a word: `accessToken` is as common
//! as `access_token`.
//!
//! The scan is linear: it moves from one separator to the next, looks back at most to the previous
//! separator, and continues after a value. It never restarts inside a long token.

use std::{borrow::Cow, ops::Range};

use super::placeholder::PLACEHOLDER;

/// Words in a name that mark the value as a secret.
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
/// Words in a name that mark the value as a message, such as `auth_error: connection reset`.
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
/// Minimum length of an unquoted secret.
const BARE_MIN: usize = 4;
/// Punctuation that may follow an unquoted value without belonging to it.
const TRAILING: &[char] = &[',', ';', ')', '}', ']', '\\', '.'];

/// Replaces the value after every name that denotes a secret.
pub(super) fn redact_assignments(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text.as_bytes()[at..]
        .iter()
        .position(|byte| matches!(byte, b'=' | b':'))
    {
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

/// Returns whether the name denotes a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let words = || {
        name.split(['_', '-'])
            .flat_map(|part| std::iter::once(part).chain(camel_words(part)))
    };
    words().any(|word| is_listed(word, SECRET_WORDS))
        && !words().any(|word| is_listed(word, ERROR_WORDS))
}

fn is_listed(word: &str, list: &[&str]) -> bool {
    list.iter().any(|listed| word.eq_ignore_ascii_case(listed))
}

/// Splits camel case: `accessToken` into `access`, `Token`; `DBPassword` into `DB`, `Password`.
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

/// Returns the name before the separator, without quotes, brackets and blanks around it.
fn name_before(text: &str, separator: usize) -> &str {
    let head = text[..separator]
        .strip_suffix(['?', '+'])
        .unwrap_or(&text[..separator]);
    let head = head.trim_end_matches([' ', '\t']);
    let head = head.strip_suffix(']').unwrap_or(head);
    let head = match head.strip_suffix(['"', '\'', '`']) {
        Some(quoted) => quoted.trim_end_matches('\\'),
        None => head,
    };
    let before = head.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    &head[before.len()..]
}

/// Returns the value's range after the separator, or `None` if it is not a secret.
fn value_after(text: &str, separator: usize) -> Option<Range<usize>> {
    let after = &text[separator + 1..];
    let after = match text.as_bytes()[separator] {
        // Part of a path (`Token::new`), or a URL scheme.
        b':' if after.starts_with(':')
            || text[..separator].ends_with(':')
            || after.starts_with("//") =>
        {
            return None;
        }
        b':' => after.strip_prefix('=').unwrap_or(after),
        // A comparison or a version (`token==1.2`).
        _ if after.starts_with('=') || text[..separator].ends_with('=') => return None,
        _ => after.strip_prefix('>').unwrap_or(after),
    };
    let value = after.trim_start_matches([' ', '\t']);
    // The password in a URL, already replaced; the host follows.
    if value
        .strip_prefix(PLACEHOLDER)
        .is_some_and(|rest| rest.starts_with('@'))
    {
        return None;
    }
    let start = text.len() - value.len();
    let within = match opening_quote(value) {
        Some(quote) => quoted(value, quote)?,
        None => 0..bare(value)?,
    };
    Some(start + within.start..start + within.end)
}

/// Returns the opening quote with backslashes and a prefix of up to two letters (`b"`, `rb'`).
fn opening_quote(value: &str) -> Option<Range<usize>> {
    let letters = value.bytes().take_while(u8::is_ascii_alphabetic).count();
    let slashes = value[letters..]
        .bytes()
        .take_while(|&byte| byte == b'\\')
        .count();
    let quote = letters + slashes;
    (letters <= 2 && value[quote..].starts_with(['"', '\'', '`'])).then_some(letters..quote + 1)
}

/// Returns the range between a quote and the closing quote, or up to the line end if there is none.
///
/// A quote after at most as many backslashes as the opening quote closes; after more it belongs to
/// the value.
fn quoted(value: &str, opening: Range<usize>) -> Option<Range<usize>> {
    let slashes = opening.len() - 1;
    let quote = value.as_bytes()[opening.end - 1];
    let mut run = 0;
    let mut end = value.len();
    for (at, byte) in value.bytes().enumerate().skip(opening.end) {
        let escaped = if slashes == 0 {
            run % 2 == 1
        } else {
            run > slashes
        };
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

/// Returns an unquoted value's length, up to a blank, a quote or the next query parameter.
/// Punctuation after it does not count.
fn bare(value: &str) -> Option<usize> {
    let run = value
        .split(|c: char| c.is_whitespace() || "\"'`&".contains(c))
        .next()
        .unwrap_or_default();
    let mut kept = run;
    while let Some(shorter) = kept
        .strip_suffix(TRAILING)
        .filter(|_| !kept.ends_with(PLACEHOLDER))
    {
        kept = shorter;
    }
    (kept.chars().count() >= BARE_MIN).then_some(kept.len())
}
