//! The skills port: instructions an agent can ask for by name (bot supplement section 16).
//!
//! A store is read whole when the service starts, so asking it waits for nothing and cannot fail. Not here: what a
//! prompt says of skills (`agents::skills_block`), and the tools that hand them out (`tools`).

use std::sync::Arc;

use ars_events::SkillUpstream;

/// Where skills come from.
pub trait Skills: Send + Sync {
    /// The skills this agent may use, by name.
    fn list(&self, agent: &str) -> Vec<Arc<Skill>>;

    /// The skill of that name, whoever may use it.
    fn get(&self, name: &str) -> Option<Arc<Skill>>;
}

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, unique in its store.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// The agents that may use it.
    pub agents: Vec<String>,
    /// Where it says it comes from.
    pub source: Option<String>,
    /// The repository and commit it was taken from.
    pub upstream: Option<SkillUpstream>,
    /// What it teaches.
    pub body: String,
}

impl Skill {
    /// Whether this agent may use it.
    pub fn is_for(&self, agent: &str) -> bool {
        self.agents.iter().any(|allowed| allowed == agent)
    }
}
