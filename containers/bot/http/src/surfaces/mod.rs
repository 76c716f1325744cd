//! The surfaces, a folder each; every route has its own file.

pub(crate) mod admin;
pub(crate) mod api;
pub mod github;
pub(crate) mod health;
pub mod ingress;
pub mod mcp;
