//! Finds or sets up a container engine, builds the images, and removes stopped containers.
//!
//! For `cargo xtask` and the tests; not deployed. The engine speaks Docker's API: at `DOCKER_HOST`,
//! a running Docker, or podman with a separate configuration, storage and bridge (docs/platform.md,
//! containers). Not here: the edge runtime that starts the containers (`ars_workerd`).
#![forbid(unsafe_code)]

mod api;
mod binary;
mod bridge;
mod containers;
pub mod debian;
mod engine;
mod forwards;
mod full;
mod image;
mod podman;
mod reaper;
mod resident;
mod stamp;

pub use binary::{MUSL_TARGET, bot_binary, sandboxd_binary};
pub use containers::{Container, Run, address_for_containers};
pub use engine::Engine;
pub use full::full_resident_image;
pub use image::{Image, bot_image, image_context, stamped_again};
pub use resident::{resident_context, resident_image};
pub use stamp::stamp;

/// The name by which a container reaches the machine it runs on, with every engine.
pub const HOST: &str = "host.docker.internal";
