//! The edge Worker on workerd, before a bot that records requests, or the real bot in a container.
//!
//! Not here: the assertions (`tests/edge`, `tests/container`).
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    reason = "test support: a broken set-up ends the test with its cause"
)]

mod corpus;
mod recorder;
mod watch;
mod world;

use std::net::SocketAddr;

use ars_raw_http::Connection;
use ars_tests_workerd::{Running, edge_worker};
use serde_json::json;

pub use corpus::{Attempt, attempts};
pub use recorder::{Arrival, HALF_AN_HOUR, Recorder};
pub use watch::{Seen, Watch};
pub use world::{VENDOR_KEY, VIEWER, World};

/// The only ingress token, for a subject that may restart the bot.
pub const TOKEN: &str = "a-token-of-tests-of-the-edge";

/// Starts the edge Worker in front of the bot at this URL.
pub fn edge_before(bot_url: &str) -> Running {
    edge_worker(bot_url, Some(&tokens()))
}

/// Connects to a local server.
pub fn connect(address: SocketAddr) -> Connection {
    Connection::open(address).expect("a connection")
}

/// Connects and sends these bytes.
pub fn send(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Connection {
    let mut connection = connect(address);
    connection.send(bytes.as_ref()).expect("sent");
    connection
}

/// Returns the `SERVICE_INGRESS_TOKENS` value.
fn tokens() -> String {
    json!({ TOKEN: { "subject": "ann", "scopes": ["dispatch", "deploy:write"] } }).to_string()
}
