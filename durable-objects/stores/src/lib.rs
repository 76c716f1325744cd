//! The state Worker's Durable Objects: each module wraps a `shared/` store in `StoreObject`.
//!
//! Not here: SQL and validation (`shared/`), JavaScript bindings (`ars-platform`), the exported
//! classes (`workers/state`).
#![forbid(unsafe_code)]

pub mod config_store;
pub mod friction_ledger;
pub mod memory_scope;
pub mod run_store;
pub mod run_transcript;
pub mod schedules;
