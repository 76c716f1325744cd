//! The health probe, the metrics, and every path without a route.

pub(crate) mod fallback;
mod metrics;
pub(crate) mod probe;
mod process;

pub(crate) use fallback::{NO_SUCH_ROUTE, fallback};
pub(crate) use metrics::metrics;
pub(crate) use probe::probe;
