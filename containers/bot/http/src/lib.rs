//! The bot's HTTP surface: the ingress, the health probe, and the run pages with their event streams.
//!
//! Not here: what a request does (`ars-bot-core`), who a token stands for (`ars-auth`), reading configuration and
//! signals (`ars-bot-app`). Implements document 1 sections 2.1 to 2.4, 4.1, 4.3, 4.4 (runs), 5 to 8 and bot
//! supplement sections 2, 8, 11 and 23.
#![forbid(unsafe_code)]

mod body;
mod gate;
mod headers;
mod http_io;
mod lag;
mod linger;
mod pages;
mod params;
mod process;
mod respond;
mod router;
mod routes;
mod serve;
mod sse;
mod stall;
mod state;
mod time;
mod viewer;

pub use router::router;
pub use serve::serve;
pub use state::HttpState;
pub use viewer::Dashboard;
