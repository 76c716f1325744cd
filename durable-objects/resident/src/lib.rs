//! The Durable Objects for residents and their registry.
//!
//! Each repository has a [`ResidentObject`] with its container; all share a single
//! [`RegistryObject`].
//!
//! - **Keys:** a resident by resource, the registry by [`REGISTRY_NAME`].
//! - **Storage:** the engine's tables; beside them the resource, the daemon's bearer and the
//!   container's disk.
//! - **Routes:** [`CALL_PATH`] and [`STREAM_PATH`] on a resident, [`REGISTRY_PATH`] on the
//!   registry, each with a JSON document. The Worker has checked bearer and fields.
//! - **Alarm:** the next lifecycle step, or the next sweep.
//! - **Atomicity:** each engine change is a single synchronous span.
//!
//! Not here: decisions (`ars_resident`), their order (`ars_resident_engine`), the exported classes.
#![forbid(unsafe_code)]

mod code_host;
mod daemon;
mod envelope;
mod host;
mod registry;
mod resident;

pub use code_host::{CodeHost, Minting};
pub use envelope::Envelope;
pub use registry::RegistryObject;
pub use resident::ResidentObject;

/// The residents' namespace in the Worker's settings.
pub const RESIDENT_BINDING: &str = "RESIDENT";
/// The registry's namespace in the Worker's settings.
pub const REGISTRY_BINDING: &str = "RESIDENT_REGISTRY";
/// The only registry's name.
pub const REGISTRY_NAME: &str = "registry";
/// A resident's path for calls that are answered as a whole, with their status.
pub const CALL_PATH: &str = "/call";
/// A resident's path for calls with a streamed response.
pub const STREAM_PATH: &str = "/stream";
/// The registry's path.
pub const REGISTRY_PATH: &str = "/registry";
