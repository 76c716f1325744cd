//! The core as its surfaces see it.

mod amend;
mod core;
mod follow_up;

pub use core::{Core, DRAIN_DEADLINE, Load};
pub use follow_up::FollowUpError;
