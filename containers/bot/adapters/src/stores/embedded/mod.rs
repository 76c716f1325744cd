//! The stores in this process: the Durable Objects' code on SQLite files below the data directory.
//!
//! One thread owns the connections and serves requests one at a time, as each Durable Object does; it also runs the
//! sweep that is an alarm there. It answers after the commit. Not here: SQL (`ars-runs` and its siblings) and the
//! settings of connections (`ars-sql-native`).

mod folder;
mod scopes;
mod stores;
mod thread;
mod transport;

pub use transport::{Embedded, EmbeddedStores};
