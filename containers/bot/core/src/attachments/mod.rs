//! The files of messages: as parts for the model, and as references in the rows of the ledger.
//!
//! Not here: reading a file from its channel (`Channel::read_attachment`), and files that tools return
//! (`ars_bot_tools`).

mod file_use;
mod stored;

pub(crate) use file_use::{FileUse, attached, content_bytes};
pub use stored::StoredAttachment;
pub(crate) use stored::{read_again, restore, stored};
