//! Residents behind their port: the client over HTTP, and workspaces with real git.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod auto;
mod checkpoints;
mod hostile;
mod onboard;
mod places;
mod publish;
mod session;
mod support;
mod worker;
mod workspaces;
