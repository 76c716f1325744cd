//! The skills port: instructions an agent can request by name.
//!
//! A store is read whole when the service starts, so lookups neither wait nor fail. Not here: a
//! prompt's skills block and the tools that return skills (`ars-bot-tools`).

use std::sync::Arc;

use ars_events::SkillUpstream;

/// A store that holds skills.
pub trait Skills: Send + Sync {
    /// Returns the skills this agent may use, by name.
    fn list(&self, agent: &str) -> Vec<Arc<Skill>>;

    /// Returns the skill with that name, for any agent.
    fn get(&self, name: &str) -> Option<Arc<Skill>>;
}

/// Instructions with name and purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Name, unique within the store.
    pub name: String,
    /// The purpose, in a single line.
    pub description: String,
    /// The agents that may use it.
    pub agents: Vec<String>,
    /// Where it comes from, if declared.
    pub source: Option<String>,
    /// The repository and commit it was taken from.
    pub upstream: Option<SkillUpstream>,
    /// The instructions as Markdown.
    pub body: String,
}

impl Skill {
    /// Returns whether this agent may use it.
    pub fn is_for(&self, agent: &str) -> bool {
        self.agents.iter().any(|allowed| allowed == agent)
    }
}
