//! The agents as data (bot supplement section 14): what each may use and spend, and what it is told.

use ars_agent::Budget;
use ars_types::Effort;

use crate::tools::Toolset;

/// One agent.
#[derive(Debug, Clone, Copy)]
pub struct AgentSpec {
    /// Its name, as in `agent:<name>`.
    pub name: &'static str,
    /// One line for people choosing an agent.
    pub description: &'static str,
    /// The tools it may call.
    pub toolset: Toolset,
    /// What a run of it may spend.
    pub budget: Budget,
    /// Output limit of one model call, in tokens.
    pub max_output_tokens: u32,
    /// How hard its model thinks when nobody says.
    pub effort: Option<Effort>,
    /// It works on a repository and gets a workspace.
    pub needs_repository: bool,
    /// Its system prompt.
    pub prompt: &'static str,
}

/// The agent of a request that names none, when the configuration names none either.
pub const DEFAULT_AGENT: &str = "general";

const MINUTE_MS: i64 = 60_000;

/// Every agent, in the order they are listed to people.
pub static AGENTS: &[AgentSpec] = &[
    AgentSpec {
        name: "general",
        description: "answers questions; has no workspace",
        toolset: Toolset::General,
        budget: Budget { turns: 8, time_ms: 5 * MINUTE_MS },
        max_output_tokens: 16_000,
        effort: None,
        needs_repository: false,
        prompt: include_str!("general.md"),
    },
    AgentSpec {
        name: "coding",
        description: "reads, changes and tests code in a repository",
        toolset: Toolset::Coding,
        budget: Budget { turns: 60, time_ms: 45 * MINUTE_MS },
        max_output_tokens: 64_000,
        effort: None,
        needs_repository: true,
        prompt: include_str!("coding.md"),
    },
];

/// The agent of that name.
pub fn find(name: &str) -> Option<&'static AgentSpec> {
    AGENTS.iter().find(|agent| agent.name == name)
}

/// Every agent's name, for refusals.
pub fn names() -> String {
    AGENTS.iter().map(|agent| agent.name).collect::<Vec<_>>().join(", ")
}
