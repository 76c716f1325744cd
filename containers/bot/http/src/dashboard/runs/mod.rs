//! The run list, as a page and as a stream of changes.

mod feed;
mod index;
mod listing;
mod page;

pub(super) use index::index;
pub(super) use page::Row;
