//! `use_skill`: returns a skill's body to the agent and publishes that it was used.

use ars_agent::ToolSpec;
use ars_events::EventBody;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, one_line, peek},
};

pub(super) struct UseSkill;

#[async_trait]
impl Tool for UseSkill {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "use_skill".into(),
            description:
                "Gives you a skill: instructions for one kind of work. `list_skills` lists them."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The skill's name."}
                },
                "required": ["name"],
                "additionalProperties": false
            }),
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::Skills]
    }

    fn effects(&self) -> Effects {
        Effects::None
    }

    fn summary(&self, input: &Value) -> String {
        one_line(&format!("use_skill {}", peek(input, "name")))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input) {
            Ok(output) | Err(output) => output,
        }
    }
}

fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::parse(input, &["name"])?;
    let name = args.text("name")?.trim();
    let run = context.run;
    let skill = run
        .skills
        .and_then(|skills| skills.get(name))
        .ok_or_else(|| {
            ToolOutput::refused("There is no skill of that name. `list_skills` lists them.")
        })?;
    if !skill.is_for(run.agent) {
        return Err(ToolOutput::refused("That skill is not for this agent."));
    }
    (run.publish)(EventBody::SkillUse {
        skill: skill.name.clone(),
        description: skill.description.clone(),
        agent: run.agent.to_owned(),
        source: skill.source.clone(),
        upstream: skill.upstream.clone(),
        body_bytes: skill.body.len() as u64,
    });
    Ok(ToolOutput::text(skill.body.clone()))
}
