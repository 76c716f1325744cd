//! Responses that depend on the database: the built Worker's equal those from the stores in this
//! process. The tests in `shared` prove the stores' rules. Random ledger sequences are in
//! `tests/workerd`.

mod ledger;
mod memory;
mod runs;
mod small_stores;
mod transcripts;
