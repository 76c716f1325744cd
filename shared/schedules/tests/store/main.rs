//! The schedule store on real SQLite, natively: the same code and SQL as inside the Durable Object.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod latest;
mod model;
mod record;
mod schema;
mod support;
