//! The state of a card, folded from a run's events.

use ars_events::{EventBody, NoteKind};
use ars_types::{RunId, RunStatus, UnixMillis};

use super::{checklist::Checklist, figures::line};

/// Tool that sets the checklist.
const STATUS_TOOL: &str = "update_status";
/// Maximum characters of the activity line.
const ACTIVITY_MAX_CHARS: usize = 200;

/// Facts that a card shows from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardHead {
    /// The run, once it has an id.
    pub run: Option<RunId>,
    /// Name of the agent.
    pub agent: String,
    /// `provider/model`, once it is known.
    pub model: Option<String>,
    /// Address of the run's page; no link without one.
    pub url: Option<String>,
}

/// How a run ended, or why it did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardOutcome {
    /// It answered.
    Completed,
    /// It was stopped.
    Stopped,
    /// It failed.
    Failed {
        /// The reason in a line, if it is known.
        reason: Option<String>,
    },
    /// It was not permitted, or not possible.
    Refused {
        /// The reason in a line.
        reason: String,
    },
    /// Its process ended, and no other continues it.
    Interrupted,
}

impl From<RunStatus> for CardOutcome {
    fn from(status: RunStatus) -> Self {
        match status {
            RunStatus::Completed => Self::Completed,
            RunStatus::StoppedSoft | RunStatus::StoppedHard => Self::Stopped,
            RunStatus::Failed => Self::Failed { reason: None },
            RunStatus::Interrupted => Self::Interrupted,
        }
    }
}

/// Phase of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    SettingUp,
    Running,
    Closed {
        outcome: CardOutcome,
        at: UnixMillis,
    },
}

/// State of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardState {
    pub(super) head: CardHead,
    pub(super) started_at: UnixMillis,
    pub(super) phase: Phase,
    pub(super) is_draining: bool,
    pub(super) checklist: Checklist,
    /// The newest activity in a line, or empty.
    pub(super) activity: String,
    /// Calls without a result, oldest first.
    pub(super) calls: Vec<Call>,
    /// Time of the newest event that a person would notice.
    pub(super) active_at: UnixMillis,
    pub(super) microusd: Option<u64>,
}

/// A tool call without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) tool: String,
}

impl CardState {
    /// Creates the card of a run that is being set up.
    pub fn new(head: CardHead, started_at: UnixMillis) -> Self {
        Self {
            head,
            started_at,
            phase: Phase::SettingUp,
            is_draining: false,
            checklist: Checklist::default(),
            activity: String::new(),
            calls: Vec::new(),
            active_at: started_at,
            microusd: None,
        }
    }

    /// Sets the run's id and page once they exist.
    pub fn set_run(&mut self, run: RunId, url: Option<String>) {
        self.head.run = Some(run);
        self.head.url = url;
    }

    /// Applies a run event. A closed card ignores it.
    pub fn apply(&mut self, event: &EventBody, at: UnixMillis) {
        if matches!(self.phase, Phase::Closed { .. }) {
            return;
        }
        match event {
            EventBody::RunMeta { agent, model, .. } => {
                self.head.agent.clone_from(agent);
                self.head.model = model.clone().or(self.head.model.take());
            }
            EventBody::Assistant { text } => self.show(text),
            EventBody::ToolCall {
                tool,
                summary,
                call_id,
                ..
            } => self.call(tool, summary, call_id),
            EventBody::ToolResult { tool, call_id, .. } => self.answer(tool, call_id.as_deref()),
            EventBody::SkillUse { skill, .. } => self.show(&format!("skill {skill}")),
            EventBody::PrOpened {
                number, created, ..
            } => {
                let verb = if *created { "opened" } else { "updated" };
                self.show(&format!("pull request #{number} {verb}"));
            }
            EventBody::RunNote { kind, summary, .. } => {
                if *kind == NoteKind::SpansDropped {
                    return;
                }
                self.show(summary);
                if *kind != NoteKind::Resumed {
                    self.active_at = at;
                    return;
                }
            }
            EventBody::Answer { .. } => {}
            EventBody::Input { .. }
            | EventBody::Context { .. }
            | EventBody::ReviewArtifact { .. }
            | EventBody::PrDescription { .. }
            | EventBody::SpanStart { .. }
            | EventBody::SpanEnd { .. } => return,
        }
        self.active_at = at;
        self.phase = Phase::Running;
    }

    /// Shows a status: a checklist if it has marked items, else a line such as the place in a queue.
    pub fn status(&mut self, text: &str, at: UnixMillis) {
        let checklist = Checklist::from_text(text);
        if checklist.has_marks() {
            self.checklist = checklist;
        } else {
            self.show(text);
        }
        self.active_at = at;
    }

    /// Sets the cost in millionths of a dollar.
    pub fn cost(&mut self, microusd: u64) {
        self.microusd = Some(microusd);
    }

    /// Shows that a deploy interrupts the run.
    pub fn drain(&mut self) {
        self.is_draining = true;
    }

    /// Closes the card. The first outcome stays.
    pub fn close(&mut self, outcome: CardOutcome, at: UnixMillis) {
        if !matches!(self.phase, Phase::Closed { .. }) {
            self.phase = Phase::Closed { outcome, at };
        }
    }

    /// Closes the card of a run that no process continues.
    pub fn interrupted(&mut self, at: UnixMillis) {
        self.close(CardOutcome::Interrupted, at);
    }

    /// Returns when the run began.
    pub fn started_at(&self) -> UnixMillis {
        self.started_at
    }

    /// Returns whether the run has not ended.
    pub fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Closed { .. })
    }

    /// Returns the checklist to show, with every item done if the run answered.
    pub(super) fn shown_checklist(&self) -> Checklist {
        match &self.phase {
            Phase::Closed {
                outcome: CardOutcome::Completed,
                ..
            } => self.checklist.all_done(),
            Phase::SettingUp | Phase::Running | Phase::Closed { .. } => self.checklist.clone(),
        }
    }

    fn show(&mut self, text: &str) {
        let text = line(text, ACTIVITY_MAX_CHARS);
        if !text.is_empty() {
            self.activity = text;
        }
    }

    fn call(&mut self, tool: &str, summary: &str, id: &Option<String>) {
        if tool == STATUS_TOOL {
            let summary = summary.strip_prefix(STATUS_TOOL).unwrap_or(summary);
            self.checklist = Checklist::from_summary(summary);
            return;
        }
        self.show(summary);
        self.calls.push(Call {
            id: id.clone(),
            tool: tool.to_owned(),
        });
    }

    fn answer(&mut self, tool: &str, id: Option<&str>) {
        let is_it = |call: &Call| match id {
            Some(id) => call.id.as_deref() == Some(id),
            None => call.tool == tool,
        };
        if let Some(index) = self.calls.iter().position(is_it) {
            self.calls.remove(index);
        }
    }
}
