//! The bot's HTTP surface: ingress, MCP, health probe, and the run pages with their event streams.
//!
//! Not here: dispatch and runs (`ars-bot-core`), tokens and grants (`ars-auth`), configuration and signals
//! (`ars`).
#![forbid(unsafe_code)]

mod auth;
mod dashboard;
mod params;
mod respond;
mod route;
mod router;
mod server;
mod state;
mod surfaces;
mod time;

pub use auth::{access::Access, viewer::Dashboard};
pub use route::Routes;
pub use router::{router, routes};
pub use server::{ConnectionLimits, StreamLimits, serve};
pub use state::HttpState;
pub use surfaces::{github, ingress, mcp};
