//! Which files of a thread reach the model, and how they are downloaded.
//!
//! Not here: the downloads, and the form in which a model receives a file.

mod classify;
mod download;
mod limits;
mod names;
mod note;
mod select;

pub use classify::{FileKind, Readable, SkipReason, classify};
pub use download::{is_sign_in_page, may_receive_token};
pub use limits::{DOCUMENTS, FileLimits, IMAGES};
pub use names::is_denied;
pub use note::{Skipped, skipped_note};
pub use select::{SelectedFile, Selection, select};
