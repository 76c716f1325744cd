//! The engine of residents, for the Durable Object and for one machine.
//!
//! An [`Engine`] owns one resident: its state as SQL, the driver of its lifecycle, and its threads. The [`fleet`] module
//! has the routes, which need the [`Registry`] too. Effects are behind [`Host`]. Pure of any platform: no runtime, no
//! network, no clock. Not here: decisions (`ars-resident`), the daemon in the container
//! (`containers/resident/sandboxd`), and transports.
//!
//! Futures belong to one thread. Between the first read and the last write of a change there is no `await`.
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
pub use registry::{REGISTRY_MIGRATIONS, Registry, RegistryCall, RegistryReply};
pub use store::RESIDENT_MIGRATIONS;
