//! The surfaces, a folder each; every route has its own file.

pub(crate) mod admin;
pub(crate) mod api;
pub(crate) mod health;
pub(crate) mod ingress;
pub(crate) mod mcp;
pub(crate) mod runs;
pub(crate) mod session;
pub(crate) mod webhook;
