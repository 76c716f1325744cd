//! Model vendors, stores, the web and workspaces behind the core's ports.
//!
//! Not here: the ports themselves (`ars-bot-ports`) and which adapter is used (the composition root).
#![forbid(unsafe_code)]

pub mod code_host;
pub mod egress;
mod error;
pub mod logins;
pub mod models;
pub mod residents;
pub mod sandbox;
pub mod skills;
pub mod stores;
pub mod upstream;
pub mod web;
pub mod workspace;
