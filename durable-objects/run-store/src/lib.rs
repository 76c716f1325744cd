//! The Durable Object that keeps the finished runs of one store (document 2 section 4.3, state-worker supplement
//! sections 5 and 7), and how a Worker reaches it.
//!
//! - **Key:** the store key of the request's body, such as `runs:default`; a new key makes a new, empty object.
//! - **Tables:** those of `migrations/run-store`, brought up to date when the object wakes.
//! - **Invariants:** everything lies in SQLite, so the object may be evicted or its isolate lost at any line; the
//!   alarm is set whenever a put has succeeded, and again after every sweep.
//! - **Routes:** the paths of `ars_wire::runs::route`, POST, body and answer in JSON: 200 with the store's answer,
//!   400 with a refusal that names the field, 500 with a fixed body for a fault, 404 for a path that is not a verb.
//!   The checks before validation (section 1.1, 0 to 5) are the Worker's.
//! - **Alarm:** the sweep, every six hours.
//! - **Atomicity:** a request's body is read before its store operation begins, and the operation is one
//!   synchronous span in which nothing else of the object runs; a put is one transaction of the storage port.
//!
//! Not here: SQL and validation (`ars-runs`), JavaScript (`ars-platform`), the exported class (the Worker's newtype).
#![forbid(unsafe_code)]

mod ask;
mod object;
mod verb;

pub use ask::{BINDING, ask};
pub use object::RunStoreObject;
pub use verb::Verb;
