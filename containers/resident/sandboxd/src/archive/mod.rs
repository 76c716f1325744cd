//! Archives: tar in zstd, in a file on their way, so that their size is known before they are sent.

mod pack;
mod transfer;
mod unpack;

pub(crate) use pack::pack;
pub(crate) use transfer::{Received, download, measure, transfer_path, upload};
pub(crate) use unpack::unpack;
