//! Memory in runs: the block a run's prompt starts with, and the records a run writes
//! (docs/reference/memory.md#in-a-run).
//!
//! Memory never fails a run: if a store or a model does not answer, memory is smaller and the failure logged. Not
//! here: the rules (`ars_memory`), and the stores (the port [`Memory`]).

mod deps;
mod recall;
mod reflect;
mod remembering;
mod run_spend_guard;
mod scopes;
mod spend_guard;
mod taint;
mod thread_taint;
mod transcript;

pub use crate::context::MemoryDeps;
pub use recall::{Recalled, Recaller};
pub use reflect::{Kept, Outcome, Reflection, Reflector};
pub(crate) use remembering::{Conversation, Remembering};
pub(crate) use run_spend_guard::RunSpendGuard;
pub use scopes::{Place, RunScopes};
pub use spend_guard::SpendGuard;
pub(crate) use thread_taint::Successor;
pub(crate) use transcript::prose;

pub use ars_memory::reading::Budget;

#[cfg(doc)]
use ars_bot_ports::Memory;
