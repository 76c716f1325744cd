//! Reads JSON as the service's JavaScript and Python clients write it, including number rules.
//!
//! A client that cuts a text in UTF-16 may produce a lone surrogate, escaped as `\ud83d`. Rust
//! strings and SQLite cannot represent it, so it is read as U+FFFD, as browsers do. Among duplicate
//! keys the last wins. Numbers beyond a double are rejected. Stored text is either serialized again
//! or proven to be canonical ([`crate::split`]), so SQLite, Rust and JavaScript parse it alike.

use serde_json::{Map, Value};

use crate::Refusal;

/// 2^53 - 1, the largest integer that a double represents exactly.
pub const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Parses a text, replacing lone surrogates.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match mend_surrogates(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// Parses a request body, which must be an object.
pub fn parse_body(text: &str) -> Result<Map<String, Value>, Refusal> {
    match parse(text) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(Refusal::field("body", "must be a JSON object")),
        Err(_) => Err(Refusal::field(
            "body",
            "must be valid JSON, at most 127 levels deep",
        )),
    }
}

/// Returns a JSON number as a double. Every number that parses is finite.
pub fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

/// Returns a number without a fraction as an integer. Saturates at ±(2^53 - 1).
pub fn whole(value: &Value) -> Option<i64> {
    whole_number(number(value)?)
}

/// Returns a double without a fraction as an integer. Saturates at ±(2^53 - 1).
pub fn whole_number(number: f64) -> Option<i64> {
    (number.fract() == 0.0).then(|| number.clamp(-MAX_SAFE, MAX_SAFE) as i64)
}

/// Replaces every escaped lone surrogate by `\ufffd`. Returns `None` if there is none.
fn mend_surrogates(text: &str) -> Option<String> {
    let mut mended = None;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        match escaped_unit(text, at) {
            Some(0xD800..=0xDBFF)
                if matches!(escaped_unit(text, at + 6), Some(0xDC00..=0xDFFF)) =>
            {
                at += 12;
            }
            Some(0xD800..=0xDFFF) => {
                mended
                    .get_or_insert_with(|| text.to_owned())
                    .replace_range(at..at + 6, "\\ufffd");
                at += 6;
            }
            // An escape has two or six characters. Skipping two is enough, because the digits after `\u` contain no
            // backslash. In invalid JSON the second character may be several bytes long.
            _ => {
                at += 1 + text
                    .get(at + 1..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(0, char::len_utf8);
            }
        }
    }
    mended
}

/// Returns the UTF-16 unit escaped at `at`.
fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_read_as_the_replacement_character() {
        for (text, read) in [
            (r#""a\ud83d""#, "a\u{FFFD}"),
            (r#""\udc00b""#, "\u{FFFD}b"),
            (r#""\ud83d\ud83d\ude00""#, "\u{FFFD}\u{1F600}"),
            (r#""\ud83dx\ude00""#, "\u{FFFD}x\u{FFFD}"),
            (r#""\\ud83d\ud83d""#, "\\ud83d\u{FFFD}"),
            (r#""é\ud83dé""#, "é\u{FFFD}é"),
        ] {
            assert_eq!(parse(text).unwrap(), Value::from(read), "{text}");
        }
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in [
            "",
            "{",
            r#""\ud83"#,
            r#""\u"#,
            "\"\\",
            "\\é",
            r#"\ud83d"#,
            "1e400",
            "[1,]",
            "{'a':1}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(200)).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(128), "]".repeat(128))).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(127), "]".repeat(127))).is_ok());
    }

    #[test]
    fn an_integer_is_a_number_without_a_fraction() {
        for (text, expected) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("1e3", Some(1000)),
            ("5.5", None),
            ("\"5\"", None),
        ] {
            assert_eq!(whole(&parse(text).unwrap()), expected, "{text}");
        }
        assert_eq!(whole(&parse("1e300").unwrap()), Some(MAX_SAFE as i64));
    }
}
