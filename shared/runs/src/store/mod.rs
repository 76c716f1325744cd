//! The run store over the storage port: finished runs here, live runs in `ledger`.
//!
//! They share a database because a finish writes both.
//!
//! - **Tables:** `runs` and `run_events`, shared by finished and live runs; `retention`, one row;
//!   `live_*`.
//! - **Invariants:** a put or finish is a single transaction; runs excluded by the retention are
//!   hidden at once and deleted in bounded steps; a live run's events are never deleted.

mod delete;
mod event_batch;
mod event_text;
mod events;
mod get;
mod horizon;
mod item;
mod list;
mod page;
mod put;
mod put_request;
mod run_store;
mod summary;
mod sweep;
mod trim;
mod verbs;

pub(crate) use event_batch::EventBatch;
pub(crate) use event_text::{EventBody, EventText};
pub(crate) use events::after_seq;
pub(crate) use put_request::Put;
pub use run_store::RunStore;
pub use verbs::{MIGRATIONS, SWEEP_EVERY_MS};
