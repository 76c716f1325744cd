//! The tool trait and a tool's context within a run.

use std::time::Duration;

use ars_agent::{Effects, ToolSpec};
use ars_bot_ports::{Skills, Web, Workspace};
use ars_events::EventBody;
use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    description_slot::DescriptionSlot, github::CodeHostAccess, output::ToolOutput,
    review::VerdictSlot,
};

/// Maximum characters of a call's one-line summary.
const SUMMARY_MAX: usize = 200;

/// A tool that agents may call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the description for the model.
    fn spec(&self) -> ToolSpec;

    /// Returns what the installation must have for the tool, which is otherwise absent.
    fn needs(&self) -> &'static [Need];

    /// Returns which effects a call has.
    fn effects(&self) -> Effects;

    /// Returns a single event line for any input: `$ <command>` for bash, else the name and its
    /// target.
    fn summary(&self, input: &Value) -> String;

    /// Returns that line's maximum length in characters.
    fn summary_max(&self) -> usize {
        SUMMARY_MAX
    }

    /// Returns whether a cancelled call has a moment for cleanup. All others are dropped at once.
    fn needs_cleanup(&self) -> bool {
        false
    }

    /// Runs the call. Invalid arguments are answered with a text that names the field.
    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput;
}

/// What an installation must have for a tool. A missing web or tree is an answer of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A code host.
    CodeHost,
    /// A skill for the agent.
    Skills,
}

/// The context for a call.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The working tree, absent for agents without a repository.
    pub workspace: Option<&'a dyn Workspace>,
    /// The public web, absent in a deployment without it.
    pub web: Option<&'a dyn Web>,
    /// Time left in the run.
    pub remaining: Duration,
    /// Fires when the run is stopped hard.
    pub cancel: &'a CancellationToken,
    /// The run's own facilities.
    pub run: RunFacilities<'a>,
}

/// What a run offers the tools.
#[derive(Clone, Copy)]
pub struct RunFacilities<'a> {
    /// The agent that calls.
    pub agent: &'a str,
    /// The installation's skills for all agents, if it has any.
    pub skills: Option<&'a dyn Skills>,
    /// Receives the verdict, absent for agents that give none.
    pub verdict: Option<&'a VerdictSlot>,
    /// Receives a pull request's description, absent for runs that open none.
    pub description: Option<&'a DescriptionSlot>,
    /// The code host with the requester's gate, absent in an installation without it.
    pub code_host: Option<CodeHostAccess<'a>>,
    /// Publishes an event between the call's and its result's.
    pub publish: &'a (dyn Fn(EventBody) + Send + Sync),
    /// Shows the requester a status text.
    pub status: &'a (dyn Fn(&str) + Send + Sync),
    /// Removes the installation's secrets.
    /// A tool calls it before it truncates an output, because a truncated secret is no longer recognized.
    pub hide: &'a (dyn Fn(String) -> String + Send + Sync),
}

impl<'a> RunFacilities<'a> {
    /// Offers an agent a workspace only.
    pub fn bare(agent: &'a str) -> Self {
        Self {
            agent,
            skills: None,
            verdict: None,
            description: None,
            code_host: None,
            publish: &|_event| {},
            status: &|_text| {},
            hide: &|text| text,
        }
    }
}

impl<'a> ToolContext<'a> {
    /// Returns the workspace, or the output for a tool that needs it.
    pub(crate) fn workspace(&self) -> Result<&'a dyn Workspace, ToolOutput> {
        self.workspace
            .ok_or_else(|| ToolOutput::refused("This run has no working tree."))
    }

    /// Returns the web, or the output for a tool that needs it.
    pub(crate) fn web(&self) -> Result<&'a dyn Web, ToolOutput> {
        self.web
            .ok_or_else(|| ToolOutput::refused("This run has no access to the web."))
    }
}
