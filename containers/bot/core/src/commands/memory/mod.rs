//! `memory.*`

mod forget;
mod list;
mod store;

pub(super) use forget::Forget;
pub(super) use list::List;
