//! The schedules' page.

mod get;
mod page;

pub(super) use get::schedules;
