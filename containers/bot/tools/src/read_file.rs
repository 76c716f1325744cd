//! `read_file`: shows a text file, image or PDF from the workspace.

use ars_agent::{ToolContent, ToolSpec, context::is_oversized};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, peek},
    media::{self, PDF},
};

/// Maximum bytes read from any file: a byte more than the largest file shown whole.
const READ_BYTES: u64 = MAX_PDF_BYTES as u64 + 1;
/// Maximum characters shown at once, as for command output.
const MAX_SHOWN_CHARS: usize = 30_000;
/// Default number of lines shown.
const DEFAULT_LINES: usize = 2_000;
/// Maximum image size in bytes for the model (docs/reference/limits.md#tools).
const MAX_IMAGE_BYTES: usize = 5 << 20;
/// Maximum PDF size in bytes for the model.
const MAX_PDF_BYTES: usize = 10 << 20;

pub(super) struct ReadFile;

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".into(),
            description:
                "Reads a file of the working tree. Text comes with line numbers; images and PDFs are shown."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path relative to the working tree."},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line to show, from 1."},
                    "limit": {"type": "integer", "minimum": 1, "description": "Lines to show; 2000 when left out."},
                    "column": {
                        "type": "integer", "minimum": 1,
                        "description": "First character to show of the first line, from 1; for very long lines."
                    }
                },
                "required": ["path"],
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
        format!("read_file {}", peek(input, "path"))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::parse(input, &["path", "offset", "limit", "column"])?;
    let path = args.text("path")?;
    let count = |field| {
        Ok::<_, ToolOutput>(
            args.optional_count(field)?
                .map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        )
    };
    let first = count("offset")?.unwrap_or(1).max(1);
    let lines = count("limit")?.unwrap_or(DEFAULT_LINES).max(1);
    let column = count("column")?.unwrap_or(1).max(1);
    let workspace = context.workspace()?;
    let (bytes, size) = workspace
        .read(path, READ_BYTES)
        .await
        .map_err(ToolOutput::from)?;
    if let Some(content) = media(path, &bytes, size)? {
        return Ok(ToolOutput {
            content: vec![content],
            ..ToolOutput::text("")
        });
    }
    if bytes.iter().take(8 << 10).any(|byte| *byte == 0) {
        return Err(ToolOutput::refused(format!(
            "{path} is a binary file of {size} bytes."
        )));
    }
    let is_cut = size > bytes.len() as u64;
    // Redacted before numbering and paging, because a secret can span several lines.
    let text = String::from_utf8_lossy(if is_cut { whole_lines(&bytes) } else { &bytes });
    let mut shown = match is_cut && text.is_empty() {
        true => "(its first line is longer than the part that is read)".into(),
        false => numbered(
            &(context.run.hide)(text.into_owned()),
            (first, column),
            lines,
        ),
    };
    if is_cut {
        shown.push_str(&format!(
            "\n[the file has {size} bytes; only the first {} are read]",
            bytes.len()
        ));
    }
    Ok(ToolOutput::text(shown))
}

/// Returns the complete lines, because a partial line could hold part of a secret.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |last| last + 1)]
}

/// Returns an image or PDF, detected by the first bytes and not by the name.
fn media(path: &str, bytes: &[u8], size: u64) -> Result<Option<ToolContent>, ToolOutput> {
    let Some(media_type) = media::sniff(bytes) else {
        return Ok(None);
    };
    let max = if media_type == PDF {
        MAX_PDF_BYTES
    } else {
        MAX_IMAGE_BYTES
    };
    if size > max as u64 {
        return Err(ToolOutput::refused(format!(
            "{path} has {size} bytes; at most {max} can be shown."
        )));
    }
    Ok(Some(media::part(media_type, bytes)))
}

/// Returns at most `limit` lines from a line and a character in it, within the character maximum.
fn numbered(text: &str, (first, column): (usize, usize), limit: usize) -> String {
    if text.is_empty() {
        return "(the file is empty)".into();
    }
    let total = text.lines().count();
    let mut shown = String::new();
    let mut last = first - 1;
    for (index, line) in text.lines().enumerate().skip(first - 1).take(limit) {
        let number = index + 1;
        let from = if number == first { column } else { 1 };
        let rest = line
            .char_indices()
            .nth(from - 1)
            .map_or("", |(at, _)| &line[at..]);
        if !shown.is_empty() && shown.len() + rest.len() > MAX_SHOWN_CHARS {
            break;
        }
        // A line that is too long on its own is shown in pieces.
        if is_oversized(rest, MAX_SHOWN_CHARS) {
            let piece: String = rest.chars().take(MAX_SHOWN_CHARS).collect();
            let (to, chars) = (from + MAX_SHOWN_CHARS - 1, line.chars().count());
            return format!(
                "{number:>5}\t{piece}\n[characters {from} to {to} of {chars} of line {number}; go on with offset \
                 {number} and column {}]",
                to + 1,
            );
        }
        shown.push_str(&format!("{number:>5}\t{rest}\n"));
        last = number;
    }
    if shown.is_empty() {
        return format!("(the file has only {total} lines)");
    }
    if last < total {
        shown.push_str(&format!(
            "[lines {first} to {last} of {total}; go on with offset {}]",
            last + 1
        ));
    }
    shown
}

#[cfg(test)]
mod tests {

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        RunFacilities,
        tests::{Memory, bare, said},
    };

    const SECRET: &str = "first-half\nsecond-half";

    async fn shown(content: &str, offset: u64) -> String {
        let memory = Memory::with(&[("a", content.as_bytes())]);
        let hide = |text: String| text.replace(SECRET, "[hidden]");
        let cancel = CancellationToken::new();
        let run = RunFacilities {
            hide: &hide,
            ..RunFacilities::bare("coding")
        };
        let context = ToolContext {
            workspace: Some(&memory),
            run,
            ..bare(&cancel)
        };
        let output = ReadFile
            .run(
                context,
                &json!({ "path": "a", "offset": offset, "limit": 1 }),
            )
            .await;
        said(&output).to_owned()
    }

    #[tokio::test]
    async fn multi_line_secret_is_redacted_before_paging() {
        let content = format!("a {SECRET} z");
        for offset in [1, 2] {
            let text = shown(&content, offset).await;
            assert!(!text.contains("half"), "{offset}: {text}");
        }
        let long = format!("{}{SECRET}", "x".repeat(MAX_SHOWN_CHARS - 15));
        assert!(!shown(&long, 1).await.contains("first"));
    }

    #[tokio::test]
    async fn oversized_file_shows_no_partial_line() {
        let cut = usize::try_from(READ_BYTES).unwrap() - 5;
        let text = shown(&format!("{}\n{SECRET}", "x".repeat(cut - 1)), 2).await;
        assert!(text.starts_with("(the file has only 1 lines)"), "{text}");
    }

    #[tokio::test]
    async fn large_single_line_file_is_not_empty() {
        let text = shown(&"x".repeat(usize::try_from(READ_BYTES).unwrap() + 1), 1).await;
        assert!(
            text.starts_with(
                "(its first line is longer than the part that is read)\n[the file has "
            ),
            "{text}"
        );
    }

    #[test]
    fn lines_are_numbered_and_the_rest_is_announced() {
        assert_eq!(
            numbered("a\nb\nc\n", (2, 1), 1),
            "    2\tb\n[lines 2 to 2 of 3; go on with offset 3]"
        );
        assert_eq!(numbered("a", (1, 1), 10), "    1\ta\n");
        assert_eq!(numbered("a", (9, 1), 10), "(the file has only 1 lines)");
    }

    #[test]
    fn long_line_is_read_piece_by_piece() {
        let line: String = (0..20_000).map(|number| format!("é{number} ")).collect();
        let text = format!("{line}\nlast");
        let (mut read, mut column) = (String::new(), 1);
        loop {
            let shown = numbered(&text, (1, column), 1);
            assert!(shown.chars().count() < 31_000);
            let (piece, note) = shown
                .strip_prefix("    1\t")
                .unwrap()
                .split_once('\n')
                .unwrap();
            read.push_str(piece);
            let Some((_, next)) = note.split_once(" and column ") else {
                break;
            };
            column = next.trim_end_matches(']').parse().unwrap();
        }
        assert_eq!(read, line);
        let fits = "é".repeat(MAX_SHOWN_CHARS);
        assert_eq!(numbered(&fits, (1, 1), 1), format!("    1\t{fits}\n"));
        assert_eq!(numbered(&text, (1, 999_999), 9), "    1\t\n    2\tlast\n");
    }

    #[test]
    fn images_are_known_by_their_bytes_and_capped() {
        let png = [0x89, b'P', b'N', b'G', 0];
        assert!(matches!(
            media("a.txt", &png, 5),
            Ok(Some(ToolContent::Image { .. }))
        ));
        assert!(media("a.png", &png, 6 << 20).is_err());
        assert_eq!(media("a.png", b"text", 4), Ok(None));
    }
}
