//! A file for each command.

pub mod ask;
pub mod completions;
pub mod diff;
pub mod doctor;
mod follow;
mod reconnect;
pub mod registry;
pub mod runs_watch;
pub mod serve;
pub mod set_up;
pub mod watch;

pub use crate::error::{Failure, interrupted};
