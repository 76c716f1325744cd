//! Requests whose answers depend on the database: the built Worker answers them like the stores in this process, whose
//! rules the tests in `shared` prove. Random sequences of the ledger are in `tests/workerd`.

mod ledger;
mod memory;
mod runs;
mod small_stores;
mod transcripts;
