//! Residents behind their port, and the thread workspaces on them.
//!
//! The rules are in docs/reference/residents.md#the-bot. There is a single client; the transport is
//! HTTP to the resident Worker, or this machine's residents in this process. `select` decides
//! whether a thread's tree is on a resident or on the local disk, and `workspace` works on the
//! former.

mod answer;
mod auto;
mod bindings;
mod by_tree;
mod client;
mod confine;
mod local;
mod saved;
mod script;
mod select;
mod shared;
mod tokens;
mod transport;
mod tree;
#[cfg(test)]
mod tree_tests;
mod worker;
mod workspace;

pub use auto::AutoOnboarding;
pub use client::{ANSWER_TIMEOUT, PROBE_TIMEOUT, ResidentsClient};
pub use local::{KnownRepositories, LocalTransport, RESIDENTS};
pub use select::{ResidentPlaces, ResidentWorkspaces, ResourceOf};
pub use transport::{ResidentCall, ResidentResponse, ResidentTransport};
pub use worker::ResidentWorker;
