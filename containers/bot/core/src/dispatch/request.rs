//! A request in dispatch, and the stages it passed before its run was created.

use std::sync::Arc;

use ars_bot_ports::{ChannelIo, IncomingMessage};
use ars_types::UnixMillis;

use crate::in_flight::InFlight;

/// A request in dispatch.
pub(crate) struct Request {
    pub(crate) message: IncomingMessage,
    pub(crate) io: Arc<dyn ChannelIo>,
    /// Its run may wait for a slot.
    pub(crate) may_wait: bool,
    /// Held until the request's run is recorded, or its refusal is delivered.
    pub(crate) in_flight: InFlight,
}

/// A stage before the creation of the run, for the run's spans.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) started_at: UnixMillis,
    pub(crate) ended_at: UnixMillis,
}
