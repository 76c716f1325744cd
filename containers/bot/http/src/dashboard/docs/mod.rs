//! The documentation page.

mod get;
mod page;

pub(super) use get::docs;
