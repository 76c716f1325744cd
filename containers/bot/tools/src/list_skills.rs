//! `list_skills`: lists the skills this agent may use (docs/reference/agents-and-tools.md#skills).

use ars_agent::ToolSpec;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Effects, Need, Tool, ToolContext, ToolOutput, args::Args};

pub(super) struct ListSkills;

#[async_trait]
impl Tool for ListSkills {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_skills".into(),
            description: "Lists the skills you may use, each with its purpose.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {},
                "required": [],
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

    fn summary(&self, _input: &Value) -> String {
        "list_skills".to_owned()
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        if let Err(refused) = Args::parse(input, &[]) {
            return refused;
        }
        let skills = context
            .run
            .skills
            .map_or_else(Vec::new, |skills| skills.list(context.run.agent));
        if skills.is_empty() {
            return ToolOutput::text("There are no skills for this agent.");
        }
        let lines: Vec<_> = skills
            .iter()
            .map(|skill| format!("{}: {}", skill.name, skill.description))
            .collect();
        ToolOutput::text(lines.join("\n"))
    }
}
