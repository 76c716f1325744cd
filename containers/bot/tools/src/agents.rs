//! The agents as data: each agent's tools, budget and prompt.

mod skills;

use std::sync::Arc;

use ars_agent::Budget;
use ars_bot_ports::{CodeHost, Skills, TreeAccess};
use ars_types::Effort;

use crate::{Need, Tool, Toolset};

pub use skills::skills_block;

/// An agent, described as data.
#[derive(Debug, Clone, Copy)]
pub struct AgentSpec {
    /// The name, as in `agent:<name>`.
    pub name: &'static str,
    /// A line for people choosing an agent.
    pub description: &'static str,
    /// The tools it may call.
    pub toolset: Toolset,
    /// What its runs end in, beside an answer.
    pub abilities: Abilities,
    /// Budget for a run.
    pub budget: Budget,
    /// Output limit per model call, in tokens.
    pub max_output_tokens: u32,
    /// The model's default effort.
    pub effort: Option<Effort>,
    /// It works on a repository and gets a workspace.
    pub needs_repository: bool,
    /// System prompt for the runs.
    pub prompt: &'static str,
}

/// What an agent's runs may end in, beside an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Runs end in a verdict, which decides the answer's first line.
    pub gives_verdict: bool,
    /// Runs write to the tree, and may open a pull request.
    pub changes_code: bool,
}

/// Answers only.
const ANSWERS: Abilities = Abilities {
    gives_verdict: false,
    changes_code: false,
};

impl AgentSpec {
    /// Returns how it uses the thread's tree.
    pub fn tree_access(&self) -> TreeAccess {
        if self.abilities.changes_code {
            TreeAccess::Write
        } else {
            TreeAccess::Read
        }
    }

    /// Returns the tools in an installation with these skills and code host. Skill tools need a
    /// skill for it.
    pub fn tools(
        &self,
        skills: Option<&dyn Skills>,
        code_host: Option<&dyn CodeHost>,
    ) -> Vec<Arc<dyn Tool>> {
        let has_skills = skills.is_some_and(|skills| !skills.list(self.name).is_empty());
        let is_met = |need: &Need| match need {
            Need::Skills => has_skills,
            Need::CodeHost => code_host.is_some(),
        };
        let mut tools = self.toolset.tools();
        tools.retain(|tool| tool.needs().iter().all(is_met));
        tools
    }
}

/// The prompt part for runs that may open a pull request.
pub const PULL_REQUEST_PROMPT: &str = include_str!("agents/pull_request.md");

/// The agent for requests when neither the request nor the configuration names any.
pub const DEFAULT_AGENT: &str = "general";

const MINUTE_MS: i64 = 60_000;

/// Every agent, in the order they are listed to people.
pub static AGENTS: &[AgentSpec] = &[
    AgentSpec {
        name: "general",
        description: "answers questions; has no workspace",
        toolset: Toolset::Assistant,
        abilities: ANSWERS,
        budget: Budget {
            turns: 8,
            time_ms: 5 * MINUTE_MS,
        },
        max_output_tokens: 16_000,
        effort: None,
        needs_repository: false,
        prompt: include_str!("agents/general.md"),
    },
    AgentSpec {
        name: "coding",
        description: "reads, changes and tests code in a repository",
        toolset: Toolset::Full,
        abilities: Abilities {
            changes_code: true,
            ..ANSWERS
        },
        budget: Budget {
            turns: 60,
            time_ms: 45 * MINUTE_MS,
        },
        max_output_tokens: 64_000,
        effort: None,
        needs_repository: true,
        prompt: include_str!("agents/coding.md"),
    },
    AgentSpec {
        name: "review",
        description: "reviews a branch of a repository and gives a verdict",
        toolset: Toolset::Readonly,
        abilities: Abilities {
            gives_verdict: true,
            ..ANSWERS
        },
        budget: Budget {
            turns: 30,
            time_ms: 25 * MINUTE_MS,
        },
        max_output_tokens: 64_000,
        effort: Some(Effort::Medium),
        needs_repository: true,
        prompt: include_str!("agents/review.md"),
    },
    AgentSpec {
        name: "research",
        description: "looks things up on the web and names its sources",
        toolset: Toolset::Web,
        abilities: ANSWERS,
        budget: Budget {
            turns: 20,
            time_ms: 15 * MINUTE_MS,
        },
        max_output_tokens: 16_000,
        effort: None,
        needs_repository: false,
        prompt: include_str!("agents/research.md"),
    },
];

/// Returns the agent with that name.
pub fn find(name: &str) -> Option<&'static AgentSpec> {
    AGENTS.iter().find(|agent| agent.name == name)
}

/// Returns every agent's name, for refusals.
pub fn names() -> String {
    AGENTS
        .iter()
        .map(|agent| agent.name)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_match_the_specification() {
        for AgentSpec {
            name,
            toolset,
            abilities,
            ..
        } in AGENTS
        {
            assert_eq!(
                (abilities.gives_verdict, abilities.changes_code),
                (*toolset == Toolset::Readonly, *toolset == Toolset::Full),
                "{name}"
            );
        }
        let minutes = |agent: &AgentSpec| agent.budget.time_ms / MINUTE_MS;
        let table: Vec<_> = AGENTS
            .iter()
            .map(|agent| {
                let AgentSpec {
                    name,
                    toolset,
                    max_output_tokens,
                    effort,
                    needs_repository,
                    ..
                } = *agent;
                (
                    name,
                    toolset,
                    agent.budget.turns,
                    minutes(agent),
                    max_output_tokens,
                    effort,
                    needs_repository,
                )
            })
            .collect();
        assert_eq!(
            table,
            [
                ("general", Toolset::Assistant, 8, 5, 16_000, None, false),
                ("coding", Toolset::Full, 60, 45, 64_000, None, true),
                (
                    "review",
                    Toolset::Readonly,
                    30,
                    25,
                    64_000,
                    Some(Effort::Medium),
                    true
                ),
                ("research", Toolset::Web, 20, 15, 16_000, None, false),
            ]
        );
    }

    #[test]
    fn prompts_name_only_available_tools() {
        let known: Vec<String> = [
            Toolset::Full,
            Toolset::Readonly,
            Toolset::Assistant,
            Toolset::Web,
        ]
        .iter()
        .flat_map(|toolset| toolset.tools())
        .map(|tool| tool.spec().name)
        .collect();
        for agent in AGENTS {
            let own: Vec<_> = agent
                .toolset
                .tools()
                .iter()
                .map(|tool| tool.spec().name)
                .collect();
            for tool in &known {
                let is_told = agent.prompt.contains(&format!("`{tool}`"));
                assert!(
                    !is_told || own.contains(tool),
                    "{} is told of {tool}",
                    agent.name
                );
            }
        }
    }
}
