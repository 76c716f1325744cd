//! The bot's HTTP surface: the ingress, the health probe, and the run pages with their event streams.
//!
//! Not here: what a request does (`ars-bot-core`), who a token stands for (`ars-auth`), reading configuration and
//! signals (`ars-bot-app`). Implements document 1 sections 2.1 to 2.4, 4.1, 4.3, 4.4 (runs), 5 to 8 and bot
//! supplement sections 2, 8, 11 and 23.
#![forbid(unsafe_code)]

mod auth;
mod error;
mod params;
mod respond;
mod router;
mod server;
mod state;
mod surfaces;
mod time;

pub use auth::viewer::Dashboard;
pub use router::router;
pub use server::serve;
pub use state::HttpState;
