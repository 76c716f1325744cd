//! A file that came with a message.
//!
//! Not here: a file's form for the model (`ars_agent::Part`), the choice of files that a channel
//! passes on, and the bounds on them (`ars_types`).

use std::{fmt, sync::Arc};

/// Maximum length of a stored reference, in bytes. A file with a longer one is not read again.
pub const REFERENCE_MAX_BYTES: usize = 512;

/// A file that came with a message. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The file's name as its sender named it.
    pub name: String,
    /// The declared media type, such as `image/png`. The core detects the type of an image and a PDF
    /// by the first bytes.
    pub media_type: String,
    /// Whether the file is an image or a document.
    pub kind: AttachmentKind,
    /// The file's bytes.
    pub content: Arc<[u8]>,
    /// The file's name in its channel, with which another process reads it again
    /// (`Channel::read_attachment`). Stored in place of the content, so it must not be a secret.
    pub reference: Option<String>,
}

/// How a model sees a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentKind {
    /// A JPEG, PNG, GIF or WebP image.
    Image,
    /// A PDF, or a text file in UTF-8.
    Document,
}

impl fmt::Debug for Attachment {
    /// Leaves out the content, which may be large or confidential.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Attachment")
            .field("name", &self.name)
            .field("media_type", &self.media_type)
            .field("kind", &self.kind)
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}
