//! The reasons for closing a run.

use ars_events::{EventBody, NoteKind};
use ars_types::{RunStatus, StopMode};
use serde::{Deserialize, Serialize};

use crate::{budget::Budget, money::dollars};

/// Consecutive infrastructure failures that end the run.
pub(super) const INFRA_FAILURES: u32 = 2;

/// The reason for the closing call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "why",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(super) enum Closing {
    /// The time budget is used up.
    Time,
    /// The turn budget, or twice as many model calls.
    Turns,
    /// The money cap, in micro-dollars.
    Money { cap: u64 },
    /// The workspace keeps failing.
    SandboxDead { last_error: String },
    /// Someone requested a soft stop.
    Stopped,
}

impl Closing {
    /// The note about it in the event stream.
    pub(super) fn note(&self, budget: Budget) -> EventBody {
        match self {
            Self::Time => EventBody::note(
                NoteKind::TimeBudgetExhausted,
                format!("the time budget of {} is used up", budget.minutes()),
            ),
            Self::Turns => EventBody::note(
                NoteKind::TurnBudgetExhausted,
                format!("the budget of {} turns is used up", budget.turns),
            ),
            Self::Money { cap } => EventBody::note(
                NoteKind::MoneyBudgetExhausted,
                format!(
                    "the money cap of {} leaves no room for another step",
                    dollars(*cap)
                ),
            ),
            Self::SandboxDead { last_error } => EventBody::note(
                NoteKind::SandboxDead,
                format!("the workspace failed {INFRA_FAILURES} times in a row: {last_error}"),
            ),
            Self::Stopped => stopped(StopMode::Soft),
        }
    }

    /// The instruction for the model.
    pub(super) fn request(&self) -> String {
        let why = match self {
            Self::Time => "The time for this run is used up.".to_owned(),
            Self::Turns => "The turns for this run are used up.".to_owned(),
            Self::Money { .. } => "The money for this run is used up.".to_owned(),
            Self::SandboxDead { last_error } => format!(
                "The workspace stopped working. Its last error was: {last_error}. Do not guess at the cause."
            ),
            Self::Stopped => "The requester asked to stop.".to_owned(),
        };
        format!(
            "{why} No tool can be called any more. Answer now: the findings, the work done, and the open points."
        )
    }

    /// The text before the run's last answer.
    pub(super) fn warning(&self, budget: Budget) -> String {
        match self {
            Self::Time => format!("⚠️ The time budget of {} ended this run.", budget.minutes()),
            Self::Turns => format!("⚠️ The budget of {} turns ended this run.", budget.turns),
            Self::Money { cap } => format!("⚠️ The money cap of {} ended this run.", dollars(*cap)),
            Self::SandboxDead { .. } => {
                "⚠️ The workspace stopped working during this run.".to_owned()
            }
            Self::Stopped => "⏹️ Stopped early on request.".to_owned(),
        }
    }

    /// The resulting run status.
    pub(super) const fn status(&self) -> RunStatus {
        match self {
            Self::Time | Self::Turns | Self::Money { .. } | Self::SandboxDead { .. } => {
                RunStatus::Completed
            }
            Self::Stopped => RunStatus::StoppedSoft,
        }
    }
}

/// Returns the note about a stop on request.
pub(super) fn stopped(mode: StopMode) -> EventBody {
    EventBody::RunNote {
        kind: NoteKind::Stopped,
        summary: format!("stopped on request ({mode})"),
        mode: Some(mode),
        actor: None,
        from: None,
        to: None,
    }
}
