//! The memory store on native SQLite: the same code and SQL as in the Durable Object.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod forget;
mod list;
mod model;
mod properties;
mod retrieve;
mod schema;
mod support;
mod write;
