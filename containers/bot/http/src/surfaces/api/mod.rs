//! `/api/<group>.<verb>`: the commands over HTTP, behind the dashboard gate (docs/reference/api.md).
//!
//! Not here: which commands exist, their authorization, their validation and their handlers
//! (`ars_bot_core::commands`).

mod error;
mod input;
mod openapi;
mod operation;
mod requests;
mod routes;
mod schemas;
mod serve;

pub(crate) use routes::routes;
use serve::serve;
