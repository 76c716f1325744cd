//! This process's skills, loaded from a directory or added by tests.

use std::{collections::BTreeMap, sync::Arc};

use ars_bot_ports::{Skill, Skills};

/// Skills keyed by name.
#[derive(Debug, Clone, Default)]
pub struct LoadedSkills(BTreeMap<String, Arc<Skill>>);

impl LoadedSkills {
    /// Adds a skill. Returns `false` and changes nothing if a skill with this name exists.
    pub fn add(&mut self, skill: Skill) -> bool {
        let is_new = !self.0.contains_key(&skill.name);
        if is_new {
            self.0.insert(skill.name.clone(), Arc::new(skill));
        }
        is_new
    }
}

impl Skills for LoadedSkills {
    fn list(&self, agent: &str) -> Vec<Arc<Skill>> {
        self.0
            .values()
            .filter(|skill| skill.is_for(agent))
            .cloned()
            .collect()
    }

    fn get(&self, name: &str) -> Option<Arc<Skill>> {
        self.0.get(name).cloned()
    }
}
