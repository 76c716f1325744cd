//! `schedule.*`

mod list;

pub(super) use list::List;
