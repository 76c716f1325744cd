//! Limits of attached files (docs/reference/slack.md#files).

use ars_types::{
    DOCUMENT_MAX_BYTES, IMAGE_MAX_BYTES, MESSAGE_DOCUMENTS_MAX, MESSAGE_IMAGES_MAX,
    THREAD_DOCUMENTS_MAX, THREAD_DOCUMENTS_MAX_BYTES, THREAD_IMAGES_MAX, THREAD_IMAGES_MAX_BYTES,
};

/// Bytes in a megabyte.
const MB: u64 = 1024 * 1024;

/// Limits of one kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Files of a message.
    pub per_message: usize,
    /// Files of a thread.
    pub per_thread: usize,
    /// Bytes of a thread's files together.
    pub thread_bytes: u64,
}

/// Limits of images.
pub const IMAGES: FileLimits = FileLimits {
    file_bytes: IMAGE_MAX_BYTES as u64,
    per_message: MESSAGE_IMAGES_MAX,
    per_thread: THREAD_IMAGES_MAX,
    thread_bytes: THREAD_IMAGES_MAX_BYTES as u64,
};

/// Limits of documents.
pub const DOCUMENTS: FileLimits = FileLimits {
    file_bytes: DOCUMENT_MAX_BYTES as u64,
    per_message: MESSAGE_DOCUMENTS_MAX,
    per_thread: THREAD_DOCUMENTS_MAX,
    thread_bytes: THREAD_DOCUMENTS_MAX_BYTES as u64,
};

impl FileLimits {
    /// Returns the limit of a file in whole megabytes.
    pub const fn file_megabytes(&self) -> u64 {
        self.file_bytes / MB
    }
}
