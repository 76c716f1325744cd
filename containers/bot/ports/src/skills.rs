//! The skills port: instructions an agent can request by name.
//!
//! A store is read whole when the service starts, so lookups neither wait nor fail. Not here: the skills block of a
//! prompt and the tools that return skills (`ars-bot-tools`).

use std::sync::Arc;

use ars_events::SkillUpstream;

/// A store of skills.
pub trait Skills: Send + Sync {
    /// Returns the skills this agent may use, by name.
    fn list(&self, agent: &str) -> Vec<Arc<Skill>>;

    /// Returns the skill of that name, for any agent.
    fn get(&self, name: &str) -> Option<Arc<Skill>>;
}

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, unique in its store.
    pub name: String,
    /// Its purpose, on one line.
    pub description: String,
    /// The agents that may use it.
    pub agents: Vec<String>,
    /// Its declared source.
    pub source: Option<String>,
    /// The repository and commit it was taken from.
    pub upstream: Option<SkillUpstream>,
    /// The instructions.
    pub body: String,
}

impl Skill {
    /// Returns whether this agent may use it.
    pub fn is_for(&self, agent: &str) -> bool {
        self.agents.iter().any(|allowed| allowed == agent)
    }
}
