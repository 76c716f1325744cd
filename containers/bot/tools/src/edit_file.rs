//! `edit_file`: replaces an exact passage in a file.

use std::borrow::Cow;

use ars_agent::ToolSpec;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, peek},
};
use crate::error::EditError;

/// Maximum size of an edited file in bytes.
const MAX_BYTES: u64 = 8 << 20;

pub(super) struct EditFile;

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit_file".into(),
            description:
                "Replaces text in a file of the working tree. `old` must stand in the file exactly once, \
                          white space included, unless `replaceAll` is true."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path relative to the working tree."},
                    "old": {"type": "string", "description": "The text to replace, without line numbers."},
                    "new": {"type": "string", "description": "The text that replaces it."},
                    "replaceAll": {"type": "boolean", "description": "Replace every occurrence."}
                },
                "required": ["path", "old", "new"],
                "additionalProperties": false
            }),
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn effects(&self) -> Effects {
        Effects::Mutating
    }

    fn summary(&self, input: &Value) -> String {
        format!("edit_file {}", peek(input, "path"))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::parse(input, &["path", "old", "new", "replaceAll"])?;
    let (path, old, new) = (args.text("path")?, args.text("old")?, args.text("new")?);
    let every = args.flag("replaceAll")?;
    let workspace = context.workspace()?;
    let (bytes, size) = workspace
        .read(path, MAX_BYTES)
        .await
        .map_err(ToolOutput::from)?;
    if size > MAX_BYTES {
        return Err(ToolOutput::refused(format!(
            "{path} has {size} bytes; files above {MAX_BYTES} are not edited."
        )));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| ToolOutput::refused(format!("{path} is not UTF-8 text.")))?;
    let (edited, count) = replace(&text, old, new, every)
        .map_err(|why| ToolOutput::refused(format!("{path}: {why}")))?;
    workspace
        .write(path, edited.as_bytes())
        .await
        .map_err(ToolOutput::from)?;
    Ok(ToolOutput::text(format!(
        "Edited {path}: {count} replaced."
    )))
}

/// Returns the edited text and the number of changes.
fn replace(text: &str, old: &str, new: &str, every: bool) -> Result<(String, usize), EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    let new = &with_ends_of(text, new);
    if old == new {
        return Err(EditError::Unchanged);
    }
    match text.matches(old).count() {
        0 if text.replace("\r\n", "\n").contains(old) => Err(EditError::LineEnds),
        0 => Err(EditError::NotFound),
        1 => Ok((text.replacen(old, new, 1), 1)),
        count if every => Ok((text.replace(old, new), count)),
        count => Err(EditError::Ambiguous(count)),
    }
}

/// Returns the new text with CRLF if all lines in the file end so. A model writes LF only.
pub(super) fn with_ends_of<'a>(file: &str, new: &'a str) -> Cow<'a, str> {
    let (lines, crlf) = (file.matches('\n').count(), file.matches("\r\n").count());
    match crlf > 0 && crlf == lines {
        true => Cow::Owned(new.replace("\r\n", "\n").replace('\n', "\r\n")),
        false => Cow::Borrowed(new),
    }
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn one_exact_place_is_replaced() {
        assert_eq!(replace("a b c", "b", "x", false), Ok(("a x c".into(), 1)));
        assert_eq!(replace("b b", "b", "x", true), Ok(("x x".into(), 2)));
    }

    #[test]
    fn file_keeps_its_one_kind_of_line_end() {
        let edited = |text: &str, new: &str| replace(text, "b", new, false).unwrap().0;
        assert_eq!(
            edited("\u{feff}a\r\nb\r\n", "b\nc\r\nd"),
            "\u{feff}a\r\nb\r\nc\r\nd\r\n"
        );
        assert_eq!(edited("a\nb\n", "b\nc"), "a\nb\nc\n");
        assert_eq!(
            edited("a\r\nb\n", "b\nc"),
            "a\r\nb\nc\n",
            "mixed ends are left alone"
        );
    }

    #[test]
    fn anything_ambiguous_changes_nothing_and_says_why() {
        for (text, old, new, word) in [
            ("b b", "b", "x", "2 times"),
            ("a", "b", "x", "not found"),
            ("a\r\nb", "a\nb", "x", "CRLF"),
            ("a", "", "x", "empty"),
            ("a", "a", "a", "the same"),
        ] {
            assert!(
                replace(text, old, new, false)
                    .unwrap_err()
                    .to_string()
                    .contains(word),
                "{word}"
            );
        }
    }
}
