//! Run history behind the core's port: the state Worker, or the same store embedded in this process.
//!
//! Both are one client over two ways of exchanging a JSON text for another, so callers cannot tell them apart.
//! Not here: retries and the byte budget (the core's history writer). Implements document 2 section 7 and
//! state-worker supplement section 11 (run store).

mod client;
mod embedded;
mod worker;

pub use client::Proposal;
pub use embedded::EmbeddedRunStore;
pub use worker::WorkerRunStore;
