//! The surfaces over which requests arrive, a file each, and the one list of them.
//!
//! Not here: their routes, pages and channels (`ars-bot-http`).

pub mod github;
mod ingress;
mod list;
mod mcp;
pub mod slack;
mod surface;

pub use list::{Surfaces, read};
pub use surface::{Connected, Sources, Surface};
