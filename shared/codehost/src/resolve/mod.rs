//! The repository and the pull request that a request's text names.

mod resolution;
mod signals;

pub use resolution::{Listing, Resolution, resolve};
pub use signals::{Item, ItemKind, Signal, Strength, signals};
