//! The engine for residents, in the Durable Object and on a single machine.
//!
//! An [`Engine`] owns a single resident: state as SQL, lifecycle driver, and threads. The [`fleet`]
//! module has the routes, which need the [`Registry`] too. Effects are behind
//! [`Host`]. Independent from any platform: no runtime, no network, no clock. Not here: decisions
//! (`ars-resident`), the daemon in the container (`containers/resident/sandboxd`), and transports.
//!
//! Futures belong to a single thread. Between a change's first read and last write there is no
//! `await`.
#![forbid(unsafe_code)]

mod error;
pub mod fleet;
mod host;
mod mint;
mod object;
mod registry;
mod store;
mod sync;

pub use error::{Error, Fault};
pub use host::{Host, HostError, Minted, ObjectCounts, Started, TokenUse};
pub use mint::mint_body;
pub use object::{Activity, Call, Engine, Reply};
pub use registry::{REGISTRY_MIGRATIONS, Registry, RegistryCall, RegistryResponse};
pub use store::RESIDENT_MIGRATIONS;
