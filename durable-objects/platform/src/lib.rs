//! The edge platform behind Rust types: SQLite storage, transactions, alarms, capped bodies, JSON answers,
//! time, and the shell that makes a store an object.
//!
//! The only crate that touches JavaScript values; objects and Workers build on it. It compiles natively too, so
//! that what stands on it can be unit-tested, but its calls work only on the platform.
//! Not here: SQL text, routes, decisions. Facts it relies on are in docs/platform.md, each with its test.

mod alarm;
mod answer;
mod ask;
mod body;
mod clock;
mod raw;
mod request;
mod sql;
mod store_object;

pub use alarm::Alarm;
pub use answer::{INTERNAL_BODY, internal, json, refuse};
pub use ask::ask;
pub use body::{BodyError, read_body};
pub use clock::now;
pub use request::post;
pub use sql::DoSql;
pub use store_object::StoreObject;
