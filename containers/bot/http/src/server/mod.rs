//! Connections: the accept loop, its limits, bodies and event streams. Nothing here knows a route.

mod body;
mod lag;
mod linger;
mod rate;
mod serve;
pub(crate) mod sse;
mod stall;

pub(crate) use body::{MAX_BODY_BYTES, read_body};
pub(crate) use lag::LagMeter;
pub(crate) use rate::Rates;
pub(crate) use serve::Closing;
pub use serve::serve;
