//! The real ledger, natively, held to the executable model (`ars_testkit::ledger`) by random sequences of requests,
//! with crashes around every commit; and each promise of the ledger by itself.
//!
//! A failing sequence is printed, shrunk, and kept in `*.regressions` to be tried first from then on. Not here: bodies
//! one by one (the contract's tests).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crashes;
mod flush;
mod model;
mod native;
mod promises;
mod reach;
mod transcript;
