//! Query strings and percent-encoding.

use axum::http::Uri;
use percent_encoding::percent_decode_str;

/// Returns a query key's first value; `None` if it is absent or unreadable.
pub(crate) fn query(uri: &Uri, key: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs
        .into_iter()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value.into_owned())
}

/// Decodes percent-encoding once. Returns `None` if it is malformed.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('%') {
        if !after
            .as_bytes()
            .get(..2)
            .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
        {
            return None;
        }
        rest = after;
    }
    percent_decode_str(text)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_key_counts() {
        let uri: Uri = "/runs/x?t=a%20b&t=c&mode=hard".parse().unwrap();
        assert_eq!(query(&uri, "t").as_deref(), Some("a b"));
        assert_eq!(query(&uri, "mode").as_deref(), Some("hard"));
        assert_eq!(query(&uri, "all"), None);
    }

    #[test]
    fn malformed_encodings_are_told_from_odd_text() {
        assert_eq!(decode("a%2Fb%25zz").as_deref(), Some("a/b%zz"));
        for bad in ["%", "%z", "%zz", "a%2", "%ff", "%é"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
