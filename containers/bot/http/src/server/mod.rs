//! Connections: the accept loop, limits, bodies and event streams. Nothing here knows a route.

mod body;
mod connections;
mod excess;
mod held_body;
mod lag;
mod linger;
mod peer;
mod quota;
mod rate;
mod serve;
pub(crate) mod sse;
mod stall;
mod stream_limits;
mod streams;

pub(crate) use body::{BodyError, MAX_BODY_BYTES, read_body};
pub use connections::ConnectionLimits;
pub(crate) use lag::LagMeter;
pub(crate) use peer::Peer;
pub(crate) use quota::Quota;
pub(crate) use rate::Rates;
pub(crate) use serve::Closing;
pub use serve::serve;
pub use stream_limits::StreamLimits;
pub(crate) use streams::{StreamGate, StreamPermit, Streams};
