//! The edge platform behind Rust types.
//!
//! It has storage, alarms, responses, calls between objects, containers, and the shell that makes a
//! store an object. The only crate with JavaScript bindings; objects and Workers build on it.
//! `js/runtime.js` is the other half: it replaces a module instance after a panic.
//!
//! Not here: SQL text, routes, decisions. docs/platform.md lists the facts that this crate relies
//! on, each with a test.

mod alarm;
mod answer;
mod body;
mod build;
mod call;
mod clock;
mod container;
mod error;
mod interned;
mod outbound;
mod owner;
mod random;
mod raw;
mod request;
mod rpc;
mod sql;
mod store_object;
mod stored;
mod stream;
mod text;
mod transfer;
mod upstream;

pub use alarm::{fire_alarms, named_alarms, set_alarm};
pub use answer::{INTERNAL_BODY, internal, json, json_with, refuse};
pub use body::{BrokenOff, Chunks, drain_body, read_body, read_within};
pub use build::BUILD;
pub use call::{
    Changes, RetirementWatch, end_when_retired, is_retired, recoverable, run_in_background,
    run_task,
};
pub use clock::{now, sleep};
pub use container::{Container, Incoming, Outgoing};
pub use outbound::{Outbound, parse_time, post_json, sign_rs256};
pub use owner::{Admission, ContainerOwner, ContainerPolicy, LIFECYCLE_ALARM};
pub use random::random_bytes;
pub use raw::{ObjectContext, Storage, describe as thrown_text};
pub use request::{header_of, path_of, query_of};
pub use rpc::{call_store, forward, post_to, request_of, text_binding, text_bindings};
pub use sql::DoSql;
pub use store_object::StoreObject;
pub use stored::{store_text, stored_text};
pub use stream::{ClientLeft, HEARTBEAT_MS, streamed_answer};
pub use text::Text;
pub use transfer::{delete_objects, object_keys, put_object, send_object};
pub use upstream::{
    ContainerPort, Probe, Probed, Upstream, cancel_body, header_names, is_timeout, rebuilt,
};
