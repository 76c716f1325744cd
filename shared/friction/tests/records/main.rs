//! The friction ledger on real SQLite, natively: the same code and SQL as inside the Durable Object.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod model;
mod recent;
mod record;
mod schema;
mod support;
