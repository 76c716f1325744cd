//! The residents: the list, a page for each resident with the trees, and the stream of changes.

mod disk_bar;
mod feed;
mod fleet;
mod get;
mod resident;
mod sparkline;

pub(super) use get::residents;
