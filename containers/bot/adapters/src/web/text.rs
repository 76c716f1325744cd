//! Bytes as text, by the character set that the response, the first bytes or the document declares.
//!
//! Not here: HTML as readable text (`html`).

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How many bytes of a document are searched for a declaration, as in browsers.
const DECLARATION_BYTES: usize = 1024;

/// Decodes bytes by byte order mark, header or document, in that order; the default is UTF-8.
/// When `cut`, an incomplete last character is dropped.
pub(super) fn decode(bytes: &[u8], header: Option<&str>, cut: bool) -> String {
    let named = header.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named.or_else(|| declared(bytes)).unwrap_or(UTF_8);
    let mut decoder = encoding.new_decoder();
    let mut text = String::with_capacity(
        decoder
            .max_utf8_buffer_length(bytes.len())
            .unwrap_or(bytes.len()),
    );
    // The capacity suffices for every input, so a single call reads everything.
    let _ = decoder.decode_to_string(bytes, &mut text, !cut);
    text.retain(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    text
}

/// Returns a content type's `charset` parameter.
pub(super) fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// Returns the encoding that an HTML `meta` element or an XML declaration declares. A document that
/// is ASCII up to there is not UTF-16, even if it declares so.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(DECLARATION_BYTES)].to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let xml = head.starts_with("<?xml").then_some("encoding=");
    let label = ["charset="].into_iter().chain(xml).find_map(|word| {
        let rest = head[head.find(word)? + word.len()..].trim_start_matches(['"', '\'', ' ']);
        rest.split(['"', '\'', ' ', ';', '>', '/', '?']).next()
    })?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else {
        encoding
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_mark_wins_over_header_and_document() {
        assert_eq!(decode(b"\xef\xbb\xbf\xc3\xa9", Some("latin1"), false), "é");
        assert_eq!(decode(b"\xff\xfeh\0i\0", None, false), "hi");
        assert_eq!(
            decode(b"<meta charset=utf-8>\xe9", Some("ISO-8859-1"), false),
            "<meta charset=utf-8>é"
        );
        assert_eq!(decode(b"\x82\xa0", Some("shift_jis"), false), "あ");
    }

    #[test]
    fn document_declarations_are_recognised() {
        for head in [
            "<meta charset=\"windows-1252\">",
            "<META http-equiv=content-type content='text/html; charset=windows-1252'>",
            "<?xml version=\"1.0\" encoding='windows-1252'?>",
        ] {
            let bytes = [head.as_bytes(), b"\x80"].concat();
            assert_eq!(decode(&bytes, None, false), format!("{head}€"));
        }
        assert_eq!(
            decode("<meta charset=utf-16>é".as_bytes(), None, false),
            "<meta charset=utf-16>é"
        );
    }

    #[test]
    fn unknown_character_set_yields_replacements() {
        assert_eq!(decode(b"a\xffb", Some("utf-8"), false), "a\u{fffd}b");
        assert_eq!(decode(b"plain", Some("no-such-charset"), false), "plain");
        assert_eq!(decode(b"a\0\x1b[31m\r\nb\tc", None, false), "a[31m\nb\tc");
    }

    #[test]
    fn a_cut_leaves_no_half_character() {
        assert_eq!(
            decode("aé".as_bytes().split_last().unwrap().1, None, true),
            "a"
        );
        assert_eq!(
            decode("aé".as_bytes().split_last().unwrap().1, None, false),
            "a\u{fffd}"
        );
    }

    #[test]
    fn the_parameter_is_found_among_others_and_quoted() {
        assert_eq!(charset("text/html; a=b; Charset=\"UTF-8\" "), Some("UTF-8"));
        assert_eq!(charset("text/html"), None);
        assert_eq!(charset("charset=utf-8"), None);
    }
}
