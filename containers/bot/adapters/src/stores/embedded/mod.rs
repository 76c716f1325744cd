//! The stores in this process: the Durable Objects' code on SQLite files below the data directory.
//!
//! A single thread owns the connections and serves requests in turn, as each Durable Object does;
//! it also runs the sweep that is an alarm there. It answers after the commit. Not here: SQL
//! (`ars-runs` and its siblings) and connection settings (`ars-sql-native`).

mod folder;
mod scopes;
mod stores;
mod thread;
mod transport;

pub use transport::{Embedded, EmbeddedStores};
