//! From the records of several scopes to the block of a system prompt (state-worker supplement section 12, rows "read"
//! and "block").
//!
//! In order: [`union()`], [`within`], [`block()`]. Not here: asking the stores, and removing secrets (the bot's).

mod block;
mod budget;
mod union;

pub use block::{block, inert};

pub use budget::{Budget, within};
pub use union::union;
