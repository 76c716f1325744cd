//! `cargo xtask up`: sets everything up, demonstrates the service's main job, and serves.
//!
//! Order: build, code host, residents, workspace, state Worker, bot, edge, readiness, demonstration, serving.
//! On Ctrl-C, SIGTERM, a failed step or when a part ends, all started parts are stopped in reverse
//! order.

mod bot;
mod code_host;
mod config;
mod containers;
mod dashboard;
mod data_dir;
mod demo;
mod empty_databases;
mod environment;
mod hosts;
pub mod http;
mod interrupted;
mod options;
mod ports;
mod ready;
mod rehearsal;
mod residents;
mod sample;
mod sandbox;
mod saving;
mod secrets;
mod service;
mod signals;
mod slack;
mod stale_processes;
mod workers;

pub use self::bot::TARGET as BOT;
pub use self::config::format as configuration_format;
pub use self::containers::configure as put_configuration;
pub use self::interrupted::Interrupted;
pub use self::options::Options;
pub use self::service::run;
