//! Runs that outlast their process, against a ledger whose requests fail or hang as scripted (document 2 section 3.3,
//! state-worker supplement sections 9 to 11).

mod flush;
mod leaving;
