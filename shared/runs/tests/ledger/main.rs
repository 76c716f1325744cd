//! The native ledger against the executable model (`ars_testkit::ledger`).
//!
//! Random request sequences with crashes around every commit, and each ledger guarantee separately.
//! A failing sequence is printed, shrunk, and stored in `*.regressions`, which later runs try
//! first. Not here: each field's rule (`tests/contract`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "bodies are built inside one another"
)]

mod abandoned;
mod crashes;
mod flush;
mod inbox;
mod model;
mod native;
mod promises;
mod reach;
mod transcript;
mod values;
