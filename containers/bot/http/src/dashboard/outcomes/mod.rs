//! The page with outcomes of pull requests and reviews.

mod get;
mod page;

pub(super) use get::outcomes;
