//! A conversation's files, counted against the bounds of a thread.
//!
//! The content decides the type, because a model's API rejects a conversation for one file with
//! another type than the declared one. A file that is left out is named to the model.

use std::borrow::Cow;

use ars_agent::{Part, Role, Turn};
use ars_bot_ports::Attachment;
use ars_bot_tools::media;
use ars_events::{AttachedFile, cap};
use ars_types::{
    DOCUMENT_MAX_BYTES, IMAGE_MAX_BYTES, THREAD_DOCUMENTS_MAX, THREAD_DOCUMENTS_MAX_BYTES,
    THREAD_IMAGES_MAX, THREAD_IMAGES_MAX_BYTES, is_invisible,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};

/// Maximum size of a text file, in bytes. A longer one is shown by its beginning and its end.
const TEXT_FILE_MAX_BYTES: usize = 200_000;
/// Maximum size of a thread's text files together, in bytes: about half of a usual context window.
const THREAD_TEXT_MAX_BYTES: usize = 400_000;
/// Marks where a text file was cut.
const CUT_OUT: &str = "\n[…]\n";
/// Maximum characters of a file's name.
const FILE_NAME_MAX_CHARS: usize = 255;
/// Maximum characters of a file's media type.
const MEDIA_TYPE_MAX_CHARS: usize = 128;

/// The text files' type for the model, whatever their declared type.
const TEXT: &str = "text/plain";

/// Why a file is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Empty,
    OtherType,
    TooLarge(usize),
    ThreadFull,
}

/// The files that a conversation has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FileUse {
    images: usize,
    image_bytes: usize,
    documents: usize,
    document_bytes: usize,
    text_bytes: usize,
}

impl FileUse {
    /// Counts the files of people in these turns.
    pub(crate) fn in_turns(turns: &[Turn]) -> Self {
        let mut used = Self::default();
        let from_people = turns.iter().filter(|turn| turn.role == Role::User);
        from_people.for_each(|turn| used.add(&turn.parts));
        used
    }

    /// Counts the files in these parts too.
    pub(crate) fn add(&mut self, parts: &[Part]) {
        parts.iter().for_each(|part| self.count(part));
    }

    /// Returns a message's files as parts: an image behind a text with its name, and a text for each
    /// file that is left out.
    pub(crate) fn parts(&mut self, attachments: &[Attachment]) -> Vec<Part> {
        let parts = attachments.iter().flat_map(|attachment| {
            let name = clean_name(&attachment.name);
            self.encode(attachment, &name).unwrap_or_else(|left_out| {
                let bytes = attachment.content.len();
                vec![Part::text(left_out.note(&name, bytes))]
            })
        });
        parts.collect()
    }

    fn encode(&mut self, attachment: &Attachment, name: &str) -> Result<Vec<Part>, LeftOut> {
        let content = &*attachment.content;
        if content.is_empty() {
            return Err(LeftOut::Empty);
        }
        let parts = match media::sniff(content) {
            Some(media_type) => encode_file(media_type, content, name)?,
            None => encode_text(content, name)?,
        };
        let mut used = *self;
        used.add(&parts);
        if used.exceeds_thread() {
            return Err(LeftOut::ThreadFull);
        }
        *self = used;
        Ok(parts)
    }

    fn count(&mut self, part: &Part) {
        match part {
            Part::Image { data, .. } => {
                self.images += 1;
                self.image_bytes += decoded_bytes(data);
            }
            Part::Document {
                media_type, data, ..
            } => {
                self.documents += 1;
                self.document_bytes += decoded_bytes(data);
                if media_type == TEXT {
                    self.text_bytes += decoded_bytes(data);
                }
            }
            Part::Text { .. }
            | Part::ToolCall { .. }
            | Part::ToolResult { .. }
            | Part::Opaque { .. } => {}
        }
    }

    const fn exceeds_thread(&self) -> bool {
        self.images > THREAD_IMAGES_MAX
            || self.image_bytes > THREAD_IMAGES_MAX_BYTES
            || self.documents > THREAD_DOCUMENTS_MAX
            || self.document_bytes > THREAD_DOCUMENTS_MAX_BYTES
            || self.text_bytes > THREAD_TEXT_MAX_BYTES
    }
}

impl LeftOut {
    fn note(self, name: &str, bytes: usize) -> String {
        let reason = match self {
            Self::Empty => "it is empty".to_owned(),
            Self::OtherType => {
                "it is no JPEG, PNG, GIF or WebP image, no PDF, and no text in UTF-8".to_owned()
            }
            Self::TooLarge(max) => format!("it is larger than {max} bytes"),
            Self::ThreadFull => "the newer files of the thread take all the room".to_owned(),
        };
        format!(
            "[Note from the service: the file `{name}` ({bytes} bytes) is left out, because {reason}.]"
        )
    }
}

/// Describes a message's files without their content.
pub(crate) fn attached(attachments: &[Attachment]) -> Vec<AttachedFile> {
    let files = attachments.iter().map(|attachment| AttachedFile {
        name: clean_name(&attachment.name),
        media_type: clean_media_type(&attachment.media_type),
        bytes: attachment.content.len() as u64,
    });
    files.collect()
}

/// Returns the size of the files' content in bytes.
pub(crate) fn content_bytes(attachments: &[Attachment]) -> usize {
    attachments
        .iter()
        .map(|attachment| attachment.content.len())
        .sum()
}

/// Returns the name on one line and within its limit, as the model and the rows have it. Notes have
/// it as Markdown code, in which no directive is read.
pub(super) fn clean_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| match c {
            '`' => '\'',
            // A name stands in brackets too, which it may not close.
            '[' => '(',
            ']' => ')',
            c if c.is_control() || is_invisible(c) => ' ',
            c => c,
        })
        .collect();
    match name.trim() {
        "" => "unnamed".to_owned(),
        name => cap(name, FILE_NAME_MAX_CHARS).into_owned(),
    }
}

pub(super) fn clean_media_type(media_type: &str) -> String {
    cap(media_type, MEDIA_TYPE_MAX_CHARS).into_owned()
}

fn encode_file(media_type: &'static str, content: &[u8], name: &str) -> Result<Vec<Part>, LeftOut> {
    let (is_pdf, media_type) = (media_type == media::PDF, media_type.to_owned());
    let max = if is_pdf {
        DOCUMENT_MAX_BYTES
    } else {
        IMAGE_MAX_BYTES
    };
    if content.len() > max {
        return Err(LeftOut::TooLarge(max));
    }
    let data = BASE64_STANDARD.encode(content);
    if is_pdf {
        return Ok(vec![Part::Document {
            media_type,
            data,
            name: Some(name.to_owned()),
        }]);
    }
    let label = Part::text(format!("[image `{name}`]"));
    Ok(vec![label, Part::Image { media_type, data }])
}

fn encode_text(content: &[u8], name: &str) -> Result<Vec<Part>, LeftOut> {
    if content.len() > DOCUMENT_MAX_BYTES {
        return Err(LeftOut::TooLarge(DOCUMENT_MAX_BYTES));
    }
    let text = str::from_utf8(content).map_err(|_| LeftOut::OtherType)?;
    if text.contains('\0') {
        return Err(LeftOut::OtherType);
    }
    if text.trim().is_empty() {
        return Err(LeftOut::Empty);
    }
    let shown = both_ends(text, TEXT_FILE_MAX_BYTES);
    let document = Part::Document {
        media_type: TEXT.to_owned(),
        data: BASE64_STANDARD.encode(shown.as_bytes()),
        name: Some(name.to_owned()),
    };
    if shown.len() == text.len() {
        return Ok(vec![document]);
    }
    let note = format!(
        "[Note from the service: only the beginning and the end of the file `{name}` are shown, {} of its {} bytes.]",
        shown.len() - CUT_OUT.len(),
        text.len()
    );
    Ok(vec![Part::text(note), document])
}

/// Returns a longer text's head and tail with a mark between them, at most `max` bytes in all.
fn both_ends(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let kept = max - CUT_OUT.len();
    // Errors occur at both ends, and the head shows the kind of the file.
    let tail = kept / 5 * 2;
    let head = &text[..text.floor_char_boundary(kept - tail)];
    let tail = &text[text.ceil_char_boundary(text.len() - tail)..];
    Cow::Owned(format!("{head}{CUT_OUT}{tail}"))
}

fn decoded_bytes(data: &str) -> usize {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    data.len() / 4 * 3 - padding.min(2)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ars_bot_ports::AttachmentKind;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    fn file(name: &str, content: &[u8]) -> Attachment {
        Attachment {
            name: name.into(),
            media_type: "image/png".into(),
            kind: AttachmentKind::Image,
            content: Arc::from(content),
            reference: None,
        }
    }

    fn large(head: &[u8], bytes: usize) -> Vec<u8> {
        let mut content = head.to_vec();
        content.resize(bytes, b'x');
        content
    }

    /// Returns each part's media type or text.
    fn kinds(parts: &[Part]) -> Vec<&str> {
        fn kind(part: &Part) -> &str {
            match part {
                Part::Image { media_type, .. } | Part::Document { media_type, .. } => media_type,
                Part::Text { text, .. } => text,
                other => panic!("{other:?}"),
            }
        }
        parts.iter().map(kind).collect()
    }

    #[test]
    fn content_decides_the_type() {
        let long = large(b"", TEXT_FILE_MAX_BYTES + 1);
        for (content, expected) in [
            (PNG, vec!["[image `a`]", "image/png"]),
            (b"%PDF-1.7", vec!["application/pdf"]),
            ("größe".as_bytes(), vec![TEXT]),
            (b"", vec!["is empty"]),
            (b" \n", vec!["is empty"]),
            (b"PK\x03\x04\0", vec!["no text in UTF-8"]),
            (b"\xff\xfe", vec!["no text in UTF-8"]),
            (
                &large(PNG, IMAGE_MAX_BYTES + 1),
                vec!["larger than 5242880 bytes"],
            ),
            (
                &large(b"%PDF-", DOCUMENT_MAX_BYTES + 1),
                vec!["larger than 10485760 bytes"],
            ),
            (&long, vec!["of its 200001 bytes", TEXT]),
        ] {
            let parts = FileUse::default().parts(&[file("a", content)]);
            let kinds = kinds(&parts);
            assert_eq!(kinds.len(), expected.len(), "{kinds:?}");
            for (kind, expected) in kinds.iter().zip(&expected) {
                assert!(kind.contains(expected), "{kind}: {expected}");
            }
        }
    }

    #[test]
    fn thread_has_bounded_files() {
        let full = |files: &[Attachment]| {
            let mut used = FileUse::default();
            let parts = used.parts(files);
            let counted = FileUse::in_turns(&[Turn {
                role: Role::User,
                parts: parts.clone(),
            }]);
            assert_eq!(format!("{counted:?}"), format!("{used:?}"));
            let left_out = |kind: &&str| kind.contains("take all the room");
            kinds(&parts).into_iter().filter(left_out).count()
        };
        let of = |count: usize, content: &[u8]| vec![file("a", content); count];
        assert_eq!(full(&of(THREAD_IMAGES_MAX + 1, PNG)), 1);
        assert_eq!(full(&of(THREAD_DOCUMENTS_MAX + 1, b"%PDF-1")), 1);
        assert_eq!(full(&of(6, &large(PNG, IMAGE_MAX_BYTES))), 2);
        assert_eq!(full(&of(4, &large(b"%PDF-", DOCUMENT_MAX_BYTES))), 1);
        assert_eq!(full(&of(3, &large(b"", TEXT_FILE_MAX_BYTES))), 1);
    }

    #[test]
    fn long_text_keeps_both_ends() {
        let text = format!("head{}tail", "ä".repeat(TEXT_FILE_MAX_BYTES));
        let shown = both_ends(&text, TEXT_FILE_MAX_BYTES);
        assert!(shown.starts_with("head") && shown.ends_with("tail"));
        assert!((TEXT_FILE_MAX_BYTES - 4..=TEXT_FILE_MAX_BYTES).contains(&shown.len()));
    }

    #[test]
    fn name_is_a_single_line() {
        for (name, cleaned) in [
            ("a`b\n.png", "a'b .png"),
            (" \t", "unnamed"),
            ("x] [Note\u{2028}\u{202e}y\u{2068}", "x) (Note  y"),
        ] {
            assert_eq!(clean_name(name), cleaned);
        }
        assert_eq!(
            clean_name(&"ä".repeat(300)).chars().count(),
            FILE_NAME_MAX_CHARS
        );
    }
}
