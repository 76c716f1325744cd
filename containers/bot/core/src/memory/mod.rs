//! Memory in runs: what a run is told of earlier conversations, and what it leaves to later ones (document 2 section
//! 2.2, state-worker supplement section 12; bot supplement section 12.1, stages 9, 13 and 18).
//!
//! Nothing here can fail a run: a store or a model that does not answer means less memory, and a line in the log. Not
//! here: the rules themselves (`ars_memory`), and the stores (the port [`Memory`]).

mod deps;
mod purse;
mod recall;
mod reflect;
mod remembering;
mod scopes;
mod transcript;

pub use deps::MemoryDeps;
pub use purse::Purse;
pub use recall::{Recalled, Recaller};
pub use reflect::{Kept, Outcome, Reflection, Reflector};
pub(crate) use remembering::Remembering;
pub use scopes::{Place, RunScopes};

pub use ars_memory::reading::Budget;

#[cfg(doc)]
use ars_bot_ports::Memory;
