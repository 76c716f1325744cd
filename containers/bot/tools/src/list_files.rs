//! `list_files`: lists the workspace files that git does not ignore.

use ars_agent::ToolSpec;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, peek},
};

/// Files listed at once.
const MAX_FILES: usize = 1_000;

pub(super) struct ListFiles;

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_files".into(),
            description:
                "Lists the files of the working tree that git does not ignore, with their sizes."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Only below this directory; the whole tree when left out."}
                },
                "required": [],
                "additionalProperties": false
            }),
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn effects(&self) -> Effects {
        Effects::None
    }

    fn summary(&self, input: &Value) -> String {
        format!("list_files {}", peek(input, "path"))
            .trim_end()
            .to_owned()
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::parse(input, &["path"])?;
    let path = args.optional_text("path")?.unwrap_or(".");
    let (files, more) = context
        .workspace()?
        .list(path, MAX_FILES)
        .await
        .map_err(ToolOutput::from)?;
    if files.is_empty() {
        return Ok(ToolOutput::text("(no files that git does not ignore)"));
    }
    let mut text: String = files
        .iter()
        .map(|file| format!("{} ({} bytes)\n", file.path, file.size))
        .collect();
    if more {
        text.push_str(&format!(
            "[only the first {MAX_FILES}; name a directory to see the rest]"
        ));
    }
    Ok(ToolOutput::text(text))
}
