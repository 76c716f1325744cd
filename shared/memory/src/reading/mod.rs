//! From the records of several scopes to the block of a system prompt (docs/reference/memory.md#in-a-run).
//!
//! In order: [`union()`], [`within`], [`block()`]. Not here: requests to the stores, and redaction.

mod block;
mod budget;
mod union;

pub use block::{block, inert};

pub use budget::{Budget, within};
pub use union::union;
