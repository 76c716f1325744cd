//! The stores behind the core's ports: in the state Worker, or embedded in this process.
//!
//! Both are the same client over two transports, so callers cannot distinguish them. Not here: the
//! records' byte budget.

mod client;
mod embedded;
mod failure;
mod measured;
mod retry;
mod transport;
mod worker;

pub use client::{Client, Proposal};
pub use embedded::{Embedded, EmbeddedStores};
pub use transport::{StoreResponse, Transport};
pub use worker::{Worker, WorkerStores};

pub(crate) use failure::chain;
