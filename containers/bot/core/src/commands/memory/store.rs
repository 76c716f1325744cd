//! The installation's memory.

use super::super::{call::Call, error::CommandError};
use crate::context::MemoryDeps;

/// Begins an outage message.
pub(super) const MEMORY: &str = "memory";

/// Returns the memory.
///
/// # Errors
///
/// The installation has none.
pub(super) fn memory(call: Call<'_>) -> Result<&MemoryDeps, CommandError> {
    let memory = call.context.deps().capabilities.memory.as_ref();
    memory.ok_or_else(|| CommandError::unavailable("memory is off in this installation"))
}
