//! The stores behind the core's ports: the state Worker, or the same stores embedded in this process.
//!
//! Both are one client over two ways of exchanging a JSON text for another, so callers cannot tell them apart.
//! Not here: retries (`ars_bot_core::retry`) and the byte budget of records. Implements document 2 section 7 and
//! state-worker supplement sections 11 and 12.

mod client;
mod embedded;
mod failure;
mod no_memory;
mod transport;
mod worker;

pub use client::{Client, Proposal};
pub use embedded::{Embedded, EmbeddedStores};
pub use no_memory::NoMemory;
pub use transport::{Answer, Transport};
pub use worker::{Worker, WorkerStores};
