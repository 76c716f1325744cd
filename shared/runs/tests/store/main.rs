//! The run store on real SQLite, natively: the same code and SQL as inside the Durable Object.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a body written in place reads best without `&`"
)]

mod closing;
mod events;
mod get;
mod list;
mod page_cost;
mod put;
mod retention;
mod schema;
mod support;
mod text;
mod visible_to;
