//! What goes into the loop and what comes out of it.

use ars_events::EventBody;
use ars_types::RunStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::steering::Steered;
use crate::{ModelTurn, ToolContent};

/// What happened.
#[derive(Debug, Clone)]
pub enum Input {
    /// The run begins, or a resumed run goes on where no call is in flight.
    Start,
    /// The model answered.
    Model(ModelTurn),
    /// The model could not be asked; words safe to show.
    ModelFailed(String),
    /// The model said that the conversation is too long for it; words safe to show.
    ContextTooLong(String),
    /// The time allowed for the model call passed.
    ModelTimedOut,
    /// Every call of the last `RunTools`, answered in call order.
    Tools(Vec<ToolOutcome>),
    /// Messages of the thread for this run, at any time. Kept until the next step boundary.
    Steered(Vec<Steered>),
    /// Somebody asked for a soft stop. Takes effect at the next step boundary.
    SoftStop,
    /// Somebody asked for a hard stop; work in flight was aborted.
    HardStop,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Publish an event.
    Publish(EventBody),
    /// Ask the model, with [`Loop::turns`](super::Loop::turns). Ends the list.
    CallModel {
        /// What is asked for.
        purpose: Purpose,
        /// Time allowed, in milliseconds.
        limit_ms: i64,
    },
    /// Run these calls: consecutive side-effect-free ones together, others alone and in order. Ends the list.
    RunTools(Vec<ToolCall>),
    /// The run is over. Ends the list.
    Finish(RunOutcome),
    /// Nothing changes what the caller already waits for.
    Wait,
}

/// What a model call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The next step: calls or the final answer.
    Answer,
    /// A summary of earlier turns, without tools.
    Compact,
    /// The last words of a run that may do nothing more, without tools.
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

/// How the run ended. The messages it did not take are [`Loop::unconsumed`](super::Loop::unconsumed).
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The status.
    pub status: RunStatus,
    /// A budget, a dead workspace or a stop ended it, not the model. The status does not tell: a run that used up its
    /// budget is completed.
    pub cut_short: bool,
    /// What the requester is told; absent when the run was stopped hard.
    pub answer: Option<String>,
}

/// One call the model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its outcome.
    pub call_id: String,
    /// The tool; may name one that does not exist.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// What a call showed of the sandbox that the run works in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Nothing: the call was not run, was refused, or needs none.
    #[default]
    Untouched,
    /// It works, whatever came of the call: a command that fails was run.
    Works,
    /// The sandbox or transport failed, not the command.
    Failed,
    /// None was free. Noted, and neither a failure of the workspace nor the end of a row of them.
    Busy,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// The call.
    pub call_id: String,
    /// False when the tool failed.
    pub ok: bool,
    /// What it showed of the run's sandbox.
    pub sandbox: Sandbox,
    /// What the model is told.
    pub content: Vec<ToolContent>,
}
