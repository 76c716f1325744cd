//! Bounds on the files of a message and of a thread, for the channels and for the core.

/// Maximum images in a message.
pub const MESSAGE_IMAGES_MAX: usize = 10;
/// Maximum size of an image, in bytes.
pub const IMAGE_MAX_BYTES: usize = 5 * 1024 * 1024;
/// Maximum documents in a message.
pub const MESSAGE_DOCUMENTS_MAX: usize = 10;
/// Maximum size of a document, in bytes.
pub const DOCUMENT_MAX_BYTES: usize = 10 * 1024 * 1024;
/// Maximum images in a thread: a message and the earlier turns that the model sees.
pub const THREAD_IMAGES_MAX: usize = 20;
/// Maximum size of a thread's images together, in bytes.
pub const THREAD_IMAGES_MAX_BYTES: usize = 24 * 1024 * 1024;
/// Maximum documents in a thread.
pub const THREAD_DOCUMENTS_MAX: usize = 20;
/// Maximum size of a thread's documents together, in bytes.
pub const THREAD_DOCUMENTS_MAX_BYTES: usize = 32 * 1024 * 1024;
