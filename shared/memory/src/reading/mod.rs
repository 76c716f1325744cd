//! Turns records from several scopes into a prompt block (docs/reference/memory.md#in-a-run).
//!
//! In order: [`union()`], [`within`], [`block()`]. Not here: requests to the stores, and redaction.

mod block;
mod budget;
mod union;

pub use block::{block, inert};

pub use budget::{Budget, within};
pub use union::union;
