//! Secrets that are recognized by their shape, one per row.
//!
//! Not here: the prefixes of further vendors (`vendors`), and `name = value` (`assignments`), which
//! includes `x-access-token:`. Every row is linear on any input: the engine is linear, and no row
//! matches a short text after scanning a long text, which would make finding all matches quadratic.

use std::{borrow::Cow, sync::LazyLock};

#[cfg(not(target_family = "wasm"))]
use regex::{Error, Regex};
#[cfg(target_family = "wasm")]
use regex_lite::{Error, Regex};

use super::{placeholder::PLACEHOLDER, vendors::TOKENS};

/// White space in any script, inside a class. `\s` would be ASCII only in a Worker.
macro_rules! white_space {
    () => {
        r"\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}"
    };
}

/// Patterns and their replacements. Groups keep the parts that are not secret.
///
/// The order matters: a header line is replaced as a whole before a shape inside it can split it.
///
/// Both engines, that of native programs and the small engine in Workers, read a pattern the same
/// way: classes and the letters that fold to `s` and `k` (U+017F, U+212A) are written out.
const SHAPES: &[(&str, &str)] = &[
    // PEM private key, whole.
    (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.)*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        "[redacted]",
    ),
    // PEM header and the base64 lines after it: a key without the footer.
    (
        concat!(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\\[nr]|[",
            white_space!(),
            r"])*[A-Za-z0-9+/=]{16,})*"
        ),
        "[redacted]",
    ),
    // Authorization header, also as a JSON field and as an argument.
    (
        concat!(
            r#"(?i)(auth(?:orization)?\\?["']?[ \t]*[:=][ \t]*\\?["']?(?:bearer|ba[s\x{17F}]ic|to[k\x{212A}]en)[ \t]+"#,
            r#"(?:to[k\x{212A}]en=)?\\?["']?)[^"'\\,;"#,
            white_space!(),
            r"]+"
        ),
        "${1}[redacted]",
    ),
    (
        r"(?i)((?-u:\b)bearer[ \t]+)[A-Za-z0-9\x{17F}\x{212A}._~+/=-]{12,}",
        "${1}[redacted]",
    ),
    // Cookie headers: as a JSON list, as a quoted argument, and as a line.
    (
        concat!(
            r#"(?i)(["'](?:[s\x{17F}]et-)?coo[k\x{212A}]ie["'][ \t]*:[ \t]*)\[[^\]\n]*\]?"#,
            r#"|("(?:[s\x{17F}]et-)?coo[k\x{212A}]ie:[ \t]*)[^"\n]+|('(?:[s\x{17F}]et-)?coo[k\x{212A}]ie:[ \t]*)[^'\n]+"#,
            r"|((?-u:\b)(?:[s\x{17F}]et-)?coo[k\x{212A}]ie:[ \t]*)[^",
            white_space!(),
            r"][^\n]*"
        ),
        "${1}${2}${3}${4}[redacted]",
    ),
    // The password in `scheme://user:password@`. Up to the last `@` in the authority: passwords
    // hold them too.
    (
        concat!(
            r#"(://[^/:@""#,
            white_space!(),
            r#"]*:)[^/""#,
            white_space!(),
            r"]+@"
        ),
        "${1}[redacted]@",
    ),
    // `-u user:password`, as curl accepts it. In `-u https:` no password follows.
    (
        concat!(
            r#"((?:^|["'("#,
            white_space!(),
            r#"])(?:-u|--user|--proxy-user)(?:[ \t]+|=))(?:("[^"\n:]+:)/?[^"\n/][^"\n]*|('[^'\n:]+:)/?[^'\n/][^'\n]*|([^:"'"#,
            white_space!(),
            r#"]+:)/?[^"'/"#,
            white_space!(),
            r#"][^"'"#,
            white_space!(),
            r"]*)"
        ),
        "${1}${2}${3}${4}[redacted]",
    ),
    // Slack, GitHub, Anthropic, AWS, GCP, Stripe and webhook signing keys have unique prefixes.
    (
        r"xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|gh[pousr]_[A-Za-z0-9_]{10,}|github_pat_[A-Za-z0-9_]{10,}|sk-ant-[A-Za-z0-9_-]{8,}|A[KS]IA[0-9A-Z]{16,}|AIza[A-Za-z0-9_-]{35,}|[rsp]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{8,}",
        "[redacted]",
    ),
    // This prefix also ends words (`task-`), so it must begin a word and be followed by a long value.
    (r"(^|[^A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}", "${1}[redacted]"),
];

static COMPILED: LazyLock<Result<Vec<(Regex, &str)>, Error>> = LazyLock::new(|| {
    SHAPES
        .iter()
        .map(|&(pattern, replacement)| Ok((Regex::new(pattern)?, replacement)))
        .collect()
});

static VENDORS: LazyLock<Result<Vec<(&str, Regex)>, Error>> = LazyLock::new(|| {
    TOKENS
        .iter()
        .map(|&(part, pattern)| Ok((part, Regex::new(pattern)?)))
        .collect()
});

/// Replaces every known shape.
pub(super) fn redact_shapes(text: &str) -> Cow<'_, str> {
    // A test compiles the constant patterns. If any fails to compile, the whole text is hidden.
    let (Ok(shapes), Ok(vendors)) = (&*COMPILED, &*VENDORS) else {
        return Cow::Owned(PLACEHOLDER.to_owned());
    };
    let mut text = Cow::Borrowed(text);
    for (shape, replacement) in shapes {
        if let Cow::Owned(replaced) = shape.replace_all(&text, *replacement) {
            text = Cow::Owned(replaced);
        }
    }
    for (part, token) in vendors {
        if text.contains(part)
            && let Cow::Owned(replaced) = token.replace_all(&text, PLACEHOLDER)
        {
            text = Cow::Owned(replaced);
        }
    }
    text
}

#[cfg(test)]
#[path = "shapes_tests.rs"]
mod tests;

#[cfg(test)]
pub(super) use tests::assert_engines_agree;
