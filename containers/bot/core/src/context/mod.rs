//! What all stages and commands share: dependencies, settings, and the process's state.

mod abridge_jobs;
mod deps;
mod onboarded;
pub mod overrides;
mod own_schedules;
mod run_context;
pub mod settings;
mod stopping;

pub(crate) use abridge_jobs::JobState;
pub use deps::{Capabilities, CommandDeps, Deps, LedgerDeps, MemoryDeps};
pub(crate) use own_schedules::is_on;
pub(crate) use run_context::{RequeueReceiver, Requeued, RunContext};
