//! The skills block in a system prompt: names and purposes, never bodies.

use ars_bot_ports::Skills;

/// Returns the block that follows the agent's prompt, or `None` for an agent without skills.
pub fn skills_block(skills: &dyn Skills, agent: &str) -> Option<String> {
    let mine = skills.list(agent);
    if mine.is_empty() {
        return None;
    }
    let lines = mine
        .iter()
        .map(|skill| format!("\n- {}: {}", skill.name, skill.description));
    Some(format!(
        "Skills: instructions for one kind of work each. Get one with `use_skill` before you do such work.{}",
        lines.collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ars_bot_ports::Skill;

    struct One;

    impl Skills for One {
        fn list(&self, agent: &str) -> Vec<Arc<Skill>> {
            let skill = Skill {
                name: "quality".into(),
                description: "reading for upkeep".into(),
                agents: vec!["review".into()],
                source: None,
                upstream: None,
                body: "SECRET OF THE CRAFT".into(),
            };
            if skill.is_for(agent) {
                vec![Arc::new(skill)]
            } else {
                Vec::new()
            }
        }

        fn get(&self, _name: &str) -> Option<Arc<Skill>> {
            None
        }
    }

    #[test]
    fn block_lists_skills_without_bodies() {
        let block = skills_block(&One, "review").unwrap();
        assert!(
            block.ends_with("\n- quality: reading for upkeep") && !block.contains("CRAFT"),
            "{block}"
        );
        assert_eq!(skills_block(&One, "coding"), None);
    }

    #[test]
    fn only_an_agent_with_skills_has_their_tools() {
        let has = |agent: &str, skills| {
            let tools = crate::agents::find(agent).unwrap().tools(skills, None);
            ["list_skills", "use_skill"]
                .map(|name| tools.iter().any(|tool| tool.spec().name == name))
        };
        assert_eq!(has("review", Some(&One)), [true, true]);
        for (agent, skills) in [
            ("coding", Some(&One as &dyn Skills)),
            ("review", None),
            ("general", Some(&One)),
        ] {
            assert_eq!(has(agent, skills), [false, false], "{agent}");
        }
    }
}
