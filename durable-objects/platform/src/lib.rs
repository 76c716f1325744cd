//! The edge platform behind Rust types: SQLite storage, transactions, alarms, JSON answers, time, and the shell that makes a store an object.
//!
//! `js/runtime.js` is the other half of that shell: it awaits, so that Rust need not. `js/container.js` is the same for
//! the object that owns a container, with `js/bot.js` for what passes to the bot and `js/restart.js` for a restart.
//!
//! The only crate that touches JavaScript values; objects and Workers build on it. It compiles natively too, so
//! that what stands on it can be unit-tested, but its calls work only on the platform.
//! Not here: SQL text, routes, decisions. Facts it relies on are in docs/platform.md, each with its test.

mod alarm;
mod answer;
mod clock;
mod raw;
mod request;
mod sql;
mod store_object;
mod text;

pub use alarm::Alarm;
pub use answer::{INTERNAL_BODY, internal, json, json_with, refuse};
pub use clock::now;
pub use raw::{Response, Storage};
pub use request::path_of;
pub use sql::DoSql;
pub use store_object::StoreObject;
pub use text::Text;
