//! The tools an agent may call, one per file, and the trait they share (bot supplement section 15).
//!
//! A tool answers text and never fails for expected faults: bad arguments, a missing file, a failing command
//! are answers the model can act on. Where it acts is a `Workspace`.

mod args;
mod bash;
mod diff_digest;
mod edit_file;
mod list_files;
mod list_skills;
mod media;
mod read_file;
mod search;
#[cfg(test)]
mod skills_tests;
mod submit_verdict;
#[cfg(test)]
pub(crate) mod tests;
mod toolset;
mod update_status;
mod use_skill;
mod web_fetch;
mod web_search;
#[cfg(test)]
mod web_tests;
mod write_file;

use std::time::Duration;

use ars_agent::{Sandbox, ToolContent, ToolOutcome, ToolSpec};
use ars_events::EventBody;
use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    ports::{Skills, Web, Workspace, WorkspaceError},
    review::VerdictSlot,
};

pub use ars_agent::Effects;
pub use submit_verdict::verdict_in;
pub use toolset::Toolset;
pub use web_fetch::WebFetch;
pub use web_search::WebSearch;

/// Most characters of a call's one-line summary (bot supplement section 9).
const SUMMARY_MAX: usize = 200;

/// One tool.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model is told of it.
    fn spec(&self) -> ToolSpec;

    /// What it can change.
    fn effects(&self) -> Effects;

    /// One line for the event stream: `$ <command>` for bash, else the name and its target. Tolerates any input.
    fn summary(&self, input: &Value) -> String;

    /// Most characters of that line (bot supplement section 9: as of a result's).
    fn summary_max(&self) -> usize {
        SUMMARY_MAX
    }

    /// Whether a call that is to end is given a moment to put away what it started. All others are dropped where they
    /// stand.
    fn winds_down(&self) -> bool {
        false
    }

    /// Runs it. Broken arguments are answered with a text that names the field.
    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput;
}

/// What a tool may use.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// Where it acts; absent for agents without a repository.
    pub workspace: Option<&'a dyn Workspace>,
    /// The public web; absent where the deployment reaches none.
    pub web: Option<&'a dyn Web>,
    /// Time left in the run.
    pub remaining: Duration,
    /// Fires when the run is stopped hard.
    pub cancel: &'a CancellationToken,
    /// The run's own part in it.
    pub run: RunFacilities<'a>,
}

/// What a run lends its tools beside the workspace.
#[derive(Clone, Copy)]
pub struct RunFacilities<'a> {
    /// The agent that calls.
    pub agent: &'a str,
    /// The installation's skills, whoever may use them; absent when it has none.
    pub skills: Option<&'a dyn Skills>,
    /// Where the verdict goes; absent for agents that give none.
    pub verdict: Option<&'a VerdictSlot>,
    /// Publishes an event between the call's and its result's.
    pub publish: &'a (dyn Fn(EventBody) + Send + Sync),
    /// Shows the requester a text on the run's progress.
    pub status: &'a (dyn Fn(&str) + Send + Sync),
    /// A text without the installation's secrets: for a tool that cuts an output itself, because a secret cut in half is
    /// found by nobody after it.
    pub hide: &'a (dyn Fn(String) -> String + Send + Sync),
}

impl<'a> RunFacilities<'a> {
    /// Of an agent that has nothing beside its workspace.
    pub fn bare(agent: &'a str) -> Self {
        Self {
            agent,
            skills: None,
            verdict: None,
            publish: &|_event| {},
            status: &|_text| {},
            hide: &|text| text,
        }
    }
}

impl<'a> ToolContext<'a> {
    /// The workspace, or the answer of a tool that needs one where there is none.
    fn workspace(&self) -> Result<&'a dyn Workspace, ToolOutput> {
        self.workspace.ok_or_else(|| ToolOutput::refused("This run has no working tree."))
    }

    /// The web, or the answer of a tool that needs it where there is none.
    fn web(&self) -> Result<&'a dyn Web, ToolOutput> {
        self.web.ok_or_else(|| ToolOutput::refused("This run has no access to the web."))
    }
}

/// What a tool said.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// False when the tool failed, and for bash when the command exited non-zero.
    pub ok: bool,
    /// For the model.
    pub content: Vec<ToolContent>,
    /// The command's exit code, for bash.
    pub exit_code: Option<i32>,
    /// What it showed of the run's sandbox.
    pub sandbox: Sandbox,
}

impl ToolOutput {
    /// A successful text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            ok: true,
            content: vec![ToolContent::Text { text: text.into() }],
            exit_code: None,
            sandbox: Sandbox::Untouched,
        }
    }

    /// A failure the model is told of.
    pub fn refused(text: impl Into<String>) -> Self {
        Self { ok: false, ..Self::text(text) }
    }

    /// As the loop takes it in.
    pub(crate) fn of_call(self, call_id: &str) -> ToolOutcome {
        ToolOutcome { call_id: call_id.to_owned(), ok: self.ok, sandbox: self.sandbox, content: self.content }
    }
}

impl From<ToolOutcome> for ToolOutput {
    fn from(outcome: ToolOutcome) -> Self {
        let ToolOutcome { ok, sandbox, content, .. } = outcome;
        Self { ok, content, exit_code: None, sandbox }
    }
}

impl From<WorkspaceError> for ToolOutput {
    /// A broken workspace is infrastructure; everything else the model can act on.
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Infra(_) => Self { sandbox: Sandbox::Failed, ..Self::refused(error.to_string()) },
            WorkspaceError::Busy => Self { sandbox: Sandbox::Busy, ..Self::refused(error.to_string()) },
            WorkspaceError::Cancelled => Self::refused("stopped"),
            WorkspaceError::PathEscape(_)
            | WorkspaceError::NotFound(_)
            | WorkspaceError::Refused(_)
            | WorkspaceError::Clone(_) => Self::refused(error.to_string()),
        }
    }
}
