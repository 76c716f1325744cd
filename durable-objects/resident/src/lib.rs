//! The Durable Objects of residents and of their registry.
//!
//! [`ResidentObject`] is one per repository, with its container; [`RegistryObject`] is one for all.
//!
//! - **Keys:** a resident by its resource, the registry by [`REGISTRY_NAME`].
//! - **Storage:** the tables of the engine; beside them the resource, the daemon's bearer and the container's disk.
//! - **Routes:** [`CALL_PATH`] and [`STREAM_PATH`] of a resident, [`REGISTRY_PATH`] of the registry, each with a JSON
//!   document. The Worker has checked bearer and fields.
//! - **Alarm:** the next step of the lifecycle, or the next sweep.
//! - **Atomicity:** each change of the engine is one synchronous span.
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

/// The namespace of residents in the Worker's settings.
pub const RESIDENT_BINDING: &str = "RESIDENT";
/// The namespace of the registry in the Worker's settings.
pub const REGISTRY_BINDING: &str = "RESIDENT_REGISTRY";
/// The name of the only registry.
pub const REGISTRY_NAME: &str = "registry";
/// The path of a resident for calls that are answered as a whole, with their status.
pub const CALL_PATH: &str = "/call";
/// The path of a resident for calls with a streamed answer.
pub const STREAM_PATH: &str = "/stream";
/// The path of the registry.
pub const REGISTRY_PATH: &str = "/registry";
