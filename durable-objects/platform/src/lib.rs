//! The edge platform behind Rust types.
//! Storage, alarms, answers, calls between objects, containers, and the shell that makes a store an object.
//!
//! The only crate with bindings to JavaScript; objects and Workers build on it. `js/runtime.js` is its other half: it
//! replaces an instance of the module after a panic.
//!
//! Not here: SQL text, routes, decisions. docs/platform.md lists the facts that this crate relies on, each with its
//! test.

mod alarm;
mod answer;
mod body;
mod call;
mod clock;
mod error;
mod interned;
mod owner;
mod random;
mod raw;
mod request;
mod rpc;
mod sql;
mod store_object;
mod stream;
mod text;
mod upstream;

pub use alarm::{fire_alarms, named_alarms};
pub use answer::{INTERNAL_BODY, internal, json, json_with, refuse};
pub use body::{drain_body, read_body, read_within};
pub use call::{Changes, is_retired, recoverable, run_task};
pub use clock::now;
pub use owner::{Admission, ContainerOwner, ContainerPolicy, LIFECYCLE_ALARM};
pub use random::random_bytes;
pub use raw::{ObjectContext, Storage, describe as thrown_text};
pub use request::{header_of, path_of};
pub use rpc::{call_store, forward, text_binding, text_bindings};
pub use sql::DoSql;
pub use store_object::StoreObject;
pub use stream::{HEARTBEAT_MS, streamed_answer};
pub use text::Text;
pub use upstream::{ContainerPort, Probe, Probed, Upstream, cancel_body, header_names, is_timeout, rebuilt};
