//! `write_file`: replaces a workspace file.
//!
//! A file's byte order mark stays, and so do lines that all end with CRLF: a model writes neither.

use std::borrow::Cow;

use ars_agent::ToolSpec;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, peek},
    edit_file::with_ends_of,
};

/// Maximum size in bytes of a former file whose form is kept.
const MAX_COMPARED_BYTES: u64 = 8 << 20;
/// A UTF-8 file's byte order mark.
const BYTE_ORDER_MARK: char = '\u{feff}';

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

    fn needs(&self) -> &'static [Need] {
        &[]
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
    let args = Args::parse(input, &["path", "content"])?;
    let (path, content) = (args.text("path")?, args.text("content")?);
    let workspace = context.workspace()?;
    let former = match workspace.read(path, MAX_COMPARED_BYTES).await {
        Ok((bytes, size)) if size <= MAX_COMPARED_BYTES => {
            String::from_utf8(bytes).unwrap_or_default()
        }
        // A new file, or a file without a form to keep. A broken workspace fails the write.
        Ok(_) | Err(_) => String::new(),
    };
    let content = &*in_form_of(&former, content);
    workspace
        .write(path, content.as_bytes())
        .await
        .map_err(ToolOutput::from)?;
    Ok(ToolOutput::text(format!(
        "Wrote {path}: {} lines, {} bytes.",
        content.lines().count(),
        content.len()
    )))
}

/// Returns the content with the former file's line ends and byte order mark.
fn in_form_of<'a>(former: &str, content: &'a str) -> Cow<'a, str> {
    let content = with_ends_of(former, content);
    let lacks_mark = former.starts_with(BYTE_ORDER_MARK) && !content.starts_with(BYTE_ORDER_MARK);
    if lacks_mark {
        Cow::Owned(format!("{BYTE_ORDER_MARK}{content}"))
    } else {
        content
    }
}

#[cfg(test)]
mod tests {
    use super::in_form_of;

    #[test]
    fn file_keeps_its_form() {
        for (former, content, expected) in [
            ("", "a\n", "a\n"),
            ("a\n", "b\r\n", "b\r\n"),
            ("a\r\nb\r\n", "c\nd\r\n", "c\r\nd\r\n"),
            ("a\r\nb\n", "c\n", "c\n"),
            ("\u{feff}a\n", "b\n", "\u{feff}b\n"),
            ("\u{feff}a\n", "\u{feff}b\n", "\u{feff}b\n"),
        ] {
            assert_eq!(
                in_form_of(former, content),
                expected,
                "{former:?} {content:?}"
            );
        }
    }
}
