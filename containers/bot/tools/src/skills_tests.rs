//! `list_skills` and `use_skill` as a model calls them.

use std::sync::{Arc, Mutex};

use ars_bot_ports::{Skill, Skills};
use ars_events::{EventBody, SkillUpstream};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    RunFacilities, Tool, ToolContext, ToolOutput, list_skills::ListSkills, use_skill::UseSkill,
};
use crate::tests::{bare, said};

struct Two([Arc<Skill>; 2]);

impl Skills for Two {
    fn list(&self, agent: &str) -> Vec<Arc<Skill>> {
        self.0
            .iter()
            .filter(|skill| skill.is_for(agent))
            .cloned()
            .collect()
    }

    fn get(&self, name: &str) -> Option<Arc<Skill>> {
        self.0.iter().find(|skill| skill.name == name).cloned()
    }
}

fn two() -> Two {
    let skill = |name: &str, agent: &str| {
        Arc::new(Skill {
            name: name.into(),
            description: format!("for {agent}"),
            agents: vec![agent.into()],
            source: Some("the handbook".into()),
            upstream: Some(SkillUpstream {
                repo: "acme/skills".into(),
                commit: "abc1234".into(),
            }),
            body: format!("How to do {name}: é"),
        })
    };
    Two([skill("quality", "review"), skill("increments", "coding")])
}

/// Returns the tool's output and the events it published.
async fn call(
    tool: &dyn Tool,
    skills: Option<&dyn Skills>,
    input: Value,
) -> (ToolOutput, Vec<EventBody>) {
    let events = Mutex::new(Vec::new());
    let publish = |event| events.lock().unwrap().push(event);
    let cancel = CancellationToken::new();
    let run = RunFacilities {
        skills,
        publish: &publish,
        ..RunFacilities::bare("review")
    };
    let output = tool
        .run(
            ToolContext {
                run,
                ..bare(&cancel)
            },
            &input,
        )
        .await;
    (output, events.into_inner().unwrap())
}

#[tokio::test]
async fn an_agent_is_shown_its_own_skills_only() {
    let two = two();
    let (output, events) = call(&ListSkills, Some(&two), json!({})).await;
    assert_eq!((said(&output), output.ok), ("quality: for review", true));
    assert_eq!(events, []);
    let (output, _) = call(&ListSkills, None, json!({})).await;
    assert_eq!(
        (said(&output), output.ok),
        ("There are no skills for this agent.", true)
    );
    assert!(
        !call(&ListSkills, Some(&two), json!({"agent": "coding"}))
            .await
            .0
            .ok
    );
}

#[tokio::test]
async fn used_skill_returns_body_and_event() {
    let (output, events) = call(&UseSkill, Some(&two()), json!({"name": " quality "})).await;
    assert_eq!(output, ToolOutput::text("How to do quality: é"));
    assert_eq!(
        events,
        [EventBody::SkillUse {
            skill: "quality".into(),
            description: "for review".into(),
            agent: "review".into(),
            source: Some("the handbook".into()),
            upstream: Some(SkillUpstream {
                repo: "acme/skills".into(),
                commit: "abc1234".into()
            }),
            body_bytes: 21,
        }]
    );
}

#[tokio::test]
async fn foreign_and_unknown_skills_are_rejected() {
    let two = two();
    let cases: [(Option<&dyn Skills>, Value, &str); 5] = [
        (
            Some(&two),
            json!({"name": "increments"}),
            "not for this agent",
        ),
        (
            Some(&two),
            json!({"name": "nothing-like-it"}),
            "no skill of that name",
        ),
        (Some(&two), json!({}), "`name` is required"),
        (
            Some(&two),
            json!({"name": ["quality"]}),
            "`name` must be a string",
        ),
        (None, json!({"name": "quality"}), "no skill of that name"),
    ];
    for (skills, input, part) in cases {
        let (output, events) = call(&UseSkill, skills, input).await;
        assert!(!output.ok && said(&output).contains(part), "{output:?}");
        assert!(
            !said(&output).contains("nothing-like-it"),
            "the value is not said back"
        );
        assert_eq!(events, []);
    }
}
