//! A run's page with three views, the event streams, and the routes that steer and stop a run.
//!
//! A live run needs its capability token. Without it only a finished run is shown.

mod changes;
mod diagnosis;
mod earlier;
mod events;
mod facts;
mod friction;
mod outline;
mod page;
mod parts;
mod replay;
mod run_ref;
mod steer;
mod stop;
mod tail;

pub(super) use earlier::earlier;
pub(super) use events::events;
pub(super) use friction::friction;
pub(super) use page::page;
pub(super) use steer::steer;
pub(super) use stop::stop;
