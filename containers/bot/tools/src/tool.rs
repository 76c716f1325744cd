//! The trait of a tool, and the context that a run lends it.

use std::time::Duration;

use ars_agent::{Effects, ToolSpec};
use ars_bot_ports::{Skills, Web, Workspace};
use ars_events::EventBody;
use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{output::ToolOutput, review::VerdictSlot};

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
    pub(crate) fn workspace(&self) -> Result<&'a dyn Workspace, ToolOutput> {
        self.workspace.ok_or_else(|| ToolOutput::refused("This run has no working tree."))
    }

    /// The web, or the answer of a tool that needs it where there is none.
    pub(crate) fn web(&self) -> Result<&'a dyn Web, ToolOutput> {
        self.web.ok_or_else(|| ToolOutput::refused("This run has no access to the web."))
    }
}
