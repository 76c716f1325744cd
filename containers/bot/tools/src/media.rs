//! Images and PDFs as parts of a tool's output, detected by their first bytes.
//!
//! Names and declared types are not trusted, because a model's vendor rejects the whole
//! conversation for a single image with another type. Not here: size limits (each tool's own).

use ars_agent::ToolContent;
use base64::Engine as _;

/// A PDF's media type.
pub const PDF: &str = "application/pdf";

/// Returns the media type for bytes a model accepts, or `None`.
pub fn sniff(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some(PDF),
        _ => None,
    }
}

/// Returns the content part for bytes with a type that `sniff` returned.
pub(super) fn part(media_type: &str, bytes: &[u8]) -> ToolContent {
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let media_type = media_type.to_owned();
    if media_type == PDF {
        ToolContent::Document { media_type, data }
    } else {
        ToolContent::Image { media_type, data }
    }
}
