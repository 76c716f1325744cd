//! One file for each command.

pub mod ask;
pub mod completions;
pub mod diff;
pub mod friction;
pub mod serve;
pub mod watch;

pub use crate::error::{Failure, interrupted};
