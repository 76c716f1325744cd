//! The run pages and streams, one route per file (document 1 sections 4.4 and 6, bot supplement section 11).
//!
//! Everything here is behind the viewer gate. A run's own routes also ask for its token, compared in constant time
//! by the registry; without it only a finished run is shown.

mod asset;
mod docs;
mod events;
mod feed;
mod friction;
mod headers;
mod index;
mod page;
mod pages;
mod replay;
mod run_ref;
mod stop;

pub(crate) use asset::asset;
pub(crate) use docs::docs;
pub(crate) use events::events;
pub(crate) use friction::friction;
pub(crate) use headers::pages as page_headers;
pub(crate) use index::index;
pub(crate) use page::page;
pub(crate) use stop::stop;
