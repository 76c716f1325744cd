//! Hidden markers: HTML comments by which the service recognizes its own texts.

/// Starts every marker.
const OPEN: &str = "<!-- ars:";
/// Ends every marker.
const CLOSE: &str = " -->";

/// Returns the marker for a kind, which is a plain word, and a value, which may be any text.
pub fn hidden_marker(kind: &str, value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        // `-` is encoded, because `--` ends a comment.
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02x}")),
        }
    }
    format!("{OPEN}{kind}={encoded}{CLOSE}")
}

/// Returns the values of this marker kind in a text.
pub fn markers(text: &str, kind: &str) -> Vec<String> {
    let open = format!("{OPEN}{kind}=");
    let values = text
        .split(open.as_str())
        .skip(1)
        .filter_map(|rest| rest.split_once(CLOSE));
    values.filter_map(|(encoded, _)| decode(encoded)).collect()
}

fn decode(encoded: &str) -> Option<String> {
    let mut parts = encoded.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marker_hides_any_value_in_a_comment() {
        assert_eq!(hidden_marker("review", "0a1b"), "<!-- ars:review=0a1b -->");
        assert_eq!(
            hidden_marker("friction", "a -->"),
            "<!-- ars:friction=a%20%2d%2d%3e -->"
        );
    }

    #[test]
    fn malformed_markers_are_skipped() {
        for text in [
            "",
            "<!-- ars:review=%zz -->",
            "<!-- ars:review=%ff -->",
            "<!-- ars:review=a",
            "<!-- ars:other=a -->",
        ] {
            assert!(markers(text, "review").is_empty(), "{text}");
        }
        let text = format!(
            "a {} b {}",
            hidden_marker("review", "x"),
            hidden_marker("review", "%")
        );
        assert_eq!(markers(&text, "review"), ["x", "%"]);
    }

    proptest! {
        #[test]
        fn marker_returns_its_value(value in "\\PC{0,20}|[-> \n]{0,8}") {
            let marker = hidden_marker("x", &value);
            prop_assert_eq!(marker.matches("--").count(), 2);
            prop_assert_eq!(markers(&marker, "x"), [value]);
        }
    }
}
