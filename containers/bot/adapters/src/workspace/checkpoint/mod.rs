//! Local tree checkpoints: working tree commits in a mirror outside every tree.
//!
//! Mirrors are `<data>/mirrors/<digest of the origin>`, so all threads on a repository share its
//! history's objects. A checkpoint is `refs/ars/<run>/<number>` there. It changes neither the tree
//! nor the index.

mod loose;
mod message;
mod mirror;
mod prune;
mod quick;
mod restore;
mod save;
mod script;
mod secrets;

pub(super) use mirror::Mirror;
pub(super) use prune::prune;
pub(super) use restore::restore;
pub(super) use save::{LastSaved, Saved, Saving};
