//! `runs.*`

mod events;
mod friction;
mod get;
mod list;
mod outcomes;
mod restore;
mod short_id;
mod stop;
mod view;

pub(super) use events::Events;
pub(super) use friction::Friction;
pub(super) use get::Get;
pub(super) use list::List;
pub(super) use outcomes::Outcomes;
pub(super) use restore::Restore;
pub(super) use stop::Stop;
