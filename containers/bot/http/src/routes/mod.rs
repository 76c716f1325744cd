//! The routes, one verb per file.

pub(crate) mod admin;
pub(crate) mod elsewhere;
pub(crate) mod healthz;
pub(crate) mod ingress;
pub(crate) mod metrics;
pub(crate) mod runs;
