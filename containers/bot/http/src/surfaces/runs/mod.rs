//! Run pages and streams, a route per file, behind the dashboard gate.
//!
//! docs/reference/runs.md#routes lists the statuses. A live run also needs its capability token.
//! Without it only a finished run is shown. Not here: which runs a viewer may read
//! (`ars_bot_core::queries`).

mod asset;
mod docs;
mod earlier;
mod events;
mod feed;
mod fleet_feed;
mod friction;
mod headers;
mod index;
mod outcomes;
mod page;
mod pages;
mod policy;
mod problem;
mod replay;
mod residents;
mod run_ref;
mod schedules;
mod steer;
mod stop;

pub(crate) use asset::asset;
pub(crate) use docs::docs;
pub(crate) use earlier::earlier;
pub(crate) use events::events;
pub(crate) use friction::friction;
pub(crate) use headers::add_page_headers;
pub(crate) use index::index;
pub(crate) use outcomes::outcomes;
pub(crate) use page::page;
pub(crate) use policy::{add_headers, page_headers};
pub(crate) use problem::pages_for_browsers;
pub(crate) use residents::residents;
pub(crate) use schedules::schedules;
pub(crate) use steer::steer;
pub(crate) use stop::stop;
