//! `write_file`: replaces a file of the workspace.

use ars_agent::ToolSpec;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Tool, ToolContext, ToolOutput,
    args::{Args, peek},
};

/// The tool.
pub(super) struct WriteFile;

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write_file".into(),
            description:
                "Writes a file of the working tree, replacing it whole and making parent directories.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path relative to the working tree."},
                    "content": {"type": "string", "description": "The whole new content."}
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
        }
    }

    fn effects(&self) -> Effects {
        Effects::RerunSafe
    }

    fn summary(&self, input: &Value) -> String {
        format!("write_file {}", peek(input, "path"))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::of(input, &["path", "content"])?;
    let (path, content) = (args.text("path")?, args.text("content")?);
    context.workspace()?.write(path, content.as_bytes()).await.map_err(ToolOutput::from)?;
    Ok(ToolOutput::text(format!("Wrote {path}: {} lines, {} bytes.", content.lines().count(), content.len())))
}
