//! The agent loop and the run end as sans-IO state machines, and the adapters' message model.
//!
//! Not here: calling models, running tools, publishing events. `ars-bot-core` performs the actions.
#![forbid(unsafe_code)]

mod budget;
pub mod context;
mod effects;
mod error;
mod message;
pub mod money;
pub mod resume;
pub mod run_end;
mod run_loop;

pub use budget::{Budget, CLOSING_CALL_MS};
pub use effects::Effects;
pub use message::{ModelTurn, Part, Role, StopReason, ToolContent, ToolSpec, Turn, Usage};
pub use run_loop::{
    Action, Input, Limits, Loop, Position, Purpose, RunOutcome, Sandbox, Saved, Steered, ToolCall,
    ToolOutcome,
};
