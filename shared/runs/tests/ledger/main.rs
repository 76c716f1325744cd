//! The native ledger against the executable model (`ars_testkit::ledger`), by random sequences of requests with crashes
//! around every commit, and each guarantee of the ledger separately.
//!
//! A failing sequence is printed, shrunk, and stored in `*.regressions`, which later runs try first. Not here: request
//! bodies (the contract's tests).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crashes;
mod flush;
mod model;
mod native;
mod promises;
mod reach;
mod transcript;
