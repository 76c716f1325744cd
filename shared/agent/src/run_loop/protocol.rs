//! Inputs and actions for the loop.

use ars_events::EventBody;
use ars_types::RunStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::steering::Steered;
use crate::{ModelTurn, ToolContent};

/// An event or a result.
#[derive(Debug, Clone)]
pub enum Input {
    /// The run starts, or a resumed run continues without a call in flight.
    Start,
    /// The model answered the call.
    Model(ModelTurn),
    /// The model call failed, with a text that is safe to show.
    ModelFailed(String),
    /// The conversation is too long for the model, with a text that is safe to show.
    ContextTooLong(String),
    /// The model's API rejects an image or a document, with a text that is safe to show.
    FileRejected(String),
    /// The model call timed out.
    ModelTimedOut,
    /// The outcomes from the last `RunTools`, in call order.
    Tools(Vec<ToolOutcome>),
    /// Thread messages for this run, at any time. Kept until the next step boundary.
    Steered(Vec<Steered>),
    /// A soft stop was requested. It applies at the next step boundary.
    SoftStop,
    /// A hard stop was requested, and work in flight was aborted.
    HardStop,
}

/// An effect to perform.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Publish an event for the run.
    Publish(EventBody),
    /// Call the model with [`Loop::turns`](super::Loop::turns). Ends the list.
    CallModel {
        /// Why the model is called.
        purpose: Purpose,
        /// Time limit in milliseconds.
        limit_ms: i64,
    },
    /// Run these calls: consecutive side-effect-free calls together, others alone. Ends the list.
    RunTools(Vec<ToolCall>),
    /// The run is over. Ends the list.
    Finish(RunOutcome),
    /// Keep waiting for the answer to the previous action.
    Wait,
}

/// Why a model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The next step: calls or the final answer.
    Answer,
    /// Summarize earlier turns, without tools.
    Compact,
    /// Write the last answer for a run that may take no further step, without tools.
    Close,
}

impl Purpose {
    /// Whether the model may call tools.
    pub const fn may_call_tools(self) -> bool {
        match self {
            Self::Answer => true,
            Self::Compact | Self::Close => false,
        }
    }

    /// The word on spans.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Compact => "compact",
            Self::Close => "close",
        }
    }
}

/// How the run ended.
/// The messages that it did not consume are [`Loop::unconsumed`](super::Loop::unconsumed).
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The status to record.
    pub status: RunStatus,
    /// Whether a budget, a dead workspace or a stop ended it instead of the model. The status does
    /// not show it: a run that used up the budget is completed.
    pub cut_short: bool,
    /// The answer for the requester; `None` behind a hard stop.
    pub answer: Option<String>,
}

/// A call that the model makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with the outcome.
    pub call_id: String,
    /// The tool name; the model may name a tool that does not exist.
    pub name: String,
    /// The arguments as the model wrote them.
    pub input: Value,
}

/// The run's sandbox state, as a call showed it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// The call was not run, was refused, or needs no sandbox.
    #[default]
    Untouched,
    /// It works, even if the command failed.
    Works,
    /// The sandbox or transport failed, not the command.
    Failed,
    /// No sandbox was free. This neither counts as a workspace failure nor ends a series of
    /// failures.
    Busy,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// The call with this outcome.
    pub call_id: String,
    /// False when the tool failed.
    pub ok: bool,
    /// The sandbox state that the call showed.
    pub sandbox: Sandbox,
    /// The content for the model.
    pub content: Vec<ToolContent>,
}
