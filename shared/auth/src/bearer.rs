//! Parses the bearer token in an `Authorization` header.
//!
//! There are two grammars, because the ingress and the Workers' routes have different contracts.
//! Not here: whether a token is valid.

/// The scheme, as the strict grammar spells it.
const SCHEME: &str = "Bearer";
/// Blanks between and around the parts of a header value.
const BLANKS: [char; 2] = [' ', '\t'];

/// Returns the token by the ingress grammar: scheme in any case, one or more blanks, the rest
/// trimmed.
///
/// Reads only the first of several header values, so that a repeated header cannot offer a choice.
/// Values are bytes, so that a first value that is not text is rejected instead of skipped.
pub fn bearer<'a, V>(values: impl IntoIterator<Item = &'a V>) -> Option<&'a str>
where
    V: AsRef<[u8]> + ?Sized + 'a,
{
    let value = std::str::from_utf8(values.into_iter().next()?.as_ref())
        .ok()?
        .trim_matches(BLANKS);
    let (scheme, rest) = value.split_once(BLANKS)?;
    let token = rest.trim_start_matches(BLANKS);
    (scheme.eq_ignore_ascii_case(SCHEME) && !token.is_empty()).then_some(token)
}

/// Returns the token by the strict grammar: the literal prefix `Bearer `, then the token unchanged.
pub fn strict_bearer(value: &str) -> Option<&str> {
    let token = value.strip_prefix(SCHEME)?.strip_prefix(' ')?;
    (!token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ingress_grammar_accepts_any_case_and_blanks() {
        for value in [
            "Bearer abc",
            "bearer abc",
            "BEARER \t  abc",
            "  Bearer abc \t",
        ] {
            assert_eq!(bearer([value]), Some("abc"), "{value:?}");
        }
        assert_eq!(bearer(["Bearer a b"]), Some("a b"));
    }

    #[test]
    fn the_ingress_grammar_refuses_everything_else() {
        for value in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer \t",
            "Bearerabc",
            "Basic abc",
            "abc",
            "Bearer:abc",
            "\u{a0}Bearer a",
        ] {
            assert_eq!(bearer([value]), None, "{value:?}");
        }
        assert_eq!(bearer(Vec::<&str>::new()), None);
        assert_eq!(bearer([b"Bearer \xff".as_slice()]), None);
    }

    #[test]
    fn only_the_first_header_value_counts() {
        assert_eq!(bearer(["Bearer one", "Bearer two"]), Some("one"));
        assert_eq!(bearer(["Basic one", "Bearer two"]), None);
        assert_eq!(bearer([b"\xff".as_slice(), b"Bearer two"]), None);
    }

    #[test]
    fn the_strict_grammar_is_the_literal_prefix() {
        assert_eq!(strict_bearer("Bearer abc"), Some("abc"));
        assert_eq!(strict_bearer("Bearer  abc"), Some(" abc"));
        for value in [
            "",
            "bearer abc",
            " Bearer abc",
            "Bearer",
            "Bearer ",
            "Bearer\tabc",
            "Basic abc",
        ] {
            assert_eq!(strict_bearer(value), None, "{value:?}");
        }
    }
}
