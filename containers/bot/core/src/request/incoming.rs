//! A request in dispatch.

use std::sync::Arc;

use ars_bot_ports::{Channel, IncomingMessage};

use crate::limits::InFlight;

/// A request in dispatch.
pub(crate) struct Request {
    pub(crate) message: IncomingMessage,
    pub(crate) io: Arc<dyn Channel>,
    /// The run may wait for a slot.
    pub(crate) may_wait: bool,
    /// Held until the request's run is recorded, or the refusal is delivered.
    pub(crate) in_flight: InFlight,
}
