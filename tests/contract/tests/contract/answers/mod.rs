//! Answers that depend on the database: the built Worker's equal those of the stores in this process.
//! The tests in `shared` prove the rules of the stores. Random sequences of the ledger are in `tests/workerd`.

mod ledger;
mod memory;
mod runs;
mod small_stores;
mod transcripts;
