//! The event socket (Socket Mode): one connection, and the service that keeps one open.

mod connection;
mod service;

pub use connection::{ConnectError, Connection};
pub use service::SlackService;
