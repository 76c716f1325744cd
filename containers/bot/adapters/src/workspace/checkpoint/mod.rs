//! Checkpoints of local trees: commits of the working tree in a mirror outside of every tree.
//!
//! Mirrors are `<data>/mirrors/<digest of the origin>`, so all threads of a repository share the objects of its history.
//! A checkpoint is `refs/ars/<run>/<number>` there. Neither the tree nor its index is changed by one.

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
