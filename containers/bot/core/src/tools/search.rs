//! `search`: lines of the workspace's files that match a regular expression.

use ars_agent::ToolSpec;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Tool, ToolContext, ToolOutput,
    args::{Args, one_line, peek},
};

/// Matches shown at once.
const MAX_HITS: usize = 200;

/// The tool.
pub(super) struct Search;

#[async_trait]
impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search".into(),
            description:
                "Searches the files of the working tree that git does not ignore, line by line, for a \
                          regular expression (Rust syntax)."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "The regular expression."},
                    "path": {"type": "string", "description": "Only below this directory or in this file."}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
        }
    }

    fn effects(&self) -> Effects {
        Effects::None
    }

    fn summary(&self, input: &Value) -> String {
        one_line(&format!("search {} {}", peek(input, "pattern"), peek(input, "path")))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::of(input, &["pattern", "path"])?;
    let pattern = args.text("pattern")?;
    let path = args.optional_text("path")?.unwrap_or(".");
    let (hits, more) =
        context.workspace()?.search(pattern, path, MAX_HITS).await.map_err(ToolOutput::from)?;
    if hits.is_empty() {
        return Ok(ToolOutput::text(match more {
            true => "(the search was cut short before it found a match; narrow the path)",
            false => "(no matches)",
        }));
    }
    let mut text: String =
        hits.iter().map(|hit| format!("{}:{}: {}\n", hit.path, hit.line, hit.text)).collect();
    if more {
        text.push_str(&format!(
            "[there may be more than these {}; narrow the pattern or the path]",
            hits.len()
        ));
    }
    Ok(ToolOutput::text(text))
}
