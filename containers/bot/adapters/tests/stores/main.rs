//! Tests the stores' two transports: a common suite, and each transport's specific faults.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clock;
mod embedded;
mod scripted;
mod state_worker;
mod suite;
mod worker;

/// Every case against the stores in this process.
mod over_embedded {
    crate::suite! { crate::embedded::fixture() }
}

/// Every case against the state Worker over HTTP.
mod over_worker {
    crate::suite! { crate::worker::fixture() }
}
