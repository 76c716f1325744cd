//! The health probe.

mod probe;
mod process;
mod routes;

pub(crate) use probe::probe;
pub(crate) use routes::routes;
