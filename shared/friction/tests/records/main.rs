//! The friction ledger on native SQLite: the same code and SQL as in the Durable Object.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod model;
mod recent;
mod record;
mod schema;
mod support;
