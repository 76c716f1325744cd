//! The Durable Objects of the state Worker: each module wraps one store of `shared/` in `StoreObject`.
//!
//! Not here: SQL and validation (`shared/`), bindings to JavaScript (`ars-platform`), the exported classes
//! (`workers/state`).
#![forbid(unsafe_code)]

pub mod config_store;
pub mod friction_ledger;
pub mod memory_scope;
pub mod run_store;
pub mod run_transcript;
pub mod schedules;
