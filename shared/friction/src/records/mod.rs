//! The friction ledger over the storage port: recent diagnoses (docs/reference/friction.md#routes).
//!
//! - **Key:** the ledger's. A Durable Object holds a single ledger; an embedded store holds all of
//!   them.
//! - **Tables:** those in `migrations/friction-ledger`.
//! - **Invariants:** a run has a single record, the last to be written; a ledger holds at most
//!   [`MAX_RECORDS`], the newest by end time and run id; a record is returned unchanged.
//!
//! Not here: the analysis (`analyze`) and reports over many diagnoses (`patterns`).

mod entry;
mod friction_store;
mod ledger_key;
mod recent;
mod record;

pub mod diagnosis;

pub use friction_store::{FrictionStore, MAX_RECORDS, MIGRATIONS};
