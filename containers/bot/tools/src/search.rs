//! `search`: finds workspace lines that match a regular expression.
//!
//! A pattern that is no regular expression, such as `call(`, is searched as plain text, because
//! rejecting it cost a second call (docs/reference/friction.md#found-in-our-own-runs).

use std::borrow::Cow;

use ars_agent::ToolSpec;
use ars_bot_ports::LINE_BYTES;
use async_trait::async_trait;
use regex::Regex;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, one_line, peek},
};

/// Matches shown at once.
const MAX_HITS: usize = 200;
/// Maximum characters shown per line.
const LINE_CHARS: usize = 300;
/// The result's first line for a pattern that is no regular expression.
const AS_TEXT: &str = "(`pattern` is no regular expression: searched as plain text)\n";
/// Characters dropped from the end of an incompletely read line, because it could end within a secret.
const TAIL_CHARS: usize = 4 << 10;

pub(super) struct Search;

#[async_trait]
impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search".into(),
            description:
                "Searches the files of the working tree that git does not ignore, line by line, for a \
                          regular expression (Rust syntax). A pattern that is none is searched as plain text."
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

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn effects(&self) -> Effects {
        Effects::None
    }

    fn summary(&self, input: &Value) -> String {
        one_line(&format!(
            "search {} {}",
            peek(input, "pattern"),
            peek(input, "path")
        ))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::parse(input, &["pattern", "path"])?;
    let (pattern, note) = searched(args.text("pattern")?);
    let path = args.optional_text("path")?.unwrap_or(".");
    let (hits, more) = context
        .workspace()?
        .search(&pattern, path, MAX_HITS)
        .await
        .map_err(ToolOutput::from)?;
    if hits.is_empty() {
        let result = match more {
            true => "(the search was cut short before it found a match; narrow the path)",
            false => "(no matches)",
        };
        return Ok(ToolOutput::text(format!("{note}{result}")));
    }
    let (mut text, found) = (note.to_owned(), hits.len());
    for hit in hits {
        let line = shown(hit.text, context.run.hide);
        text.push_str(&format!("{}:{}: {line}\n", hit.path, hit.line));
    }
    if more {
        text.push_str(&format!(
            "[there may be more than these {found}; narrow the pattern or the path]"
        ));
    }
    Ok(ToolOutput::text(text))
}

/// Returns a pattern's regular expression, and a note if the pattern itself is none. A pattern that
/// is too large stays as it is and is rejected.
fn searched(pattern: &str) -> (Cow<'_, str>, &'static str) {
    match Regex::new(pattern) {
        Err(regex::Error::Syntax(_)) => (regex::escape(pattern).into(), AS_TEXT),
        Ok(_) | Err(_) => (pattern.into(), ""),
    }
}

/// Returns the redacted and then truncated line.
fn shown(line: String, hide: &(dyn Fn(String) -> String + Send + Sync)) -> String {
    let is_cut = line.len() >= LINE_BYTES;
    let hidden = hide(line);
    let end = hidden
        .char_indices()
        .rev()
        .nth(TAIL_CHARS - 1)
        .map_or(0, |(at, _)| at);
    let whole = if is_cut {
        format!("{}…", &hidden[..end])
    } else {
        hidden
    };
    ars_events::cap(&whole, LINE_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(line: &str) -> String {
        line.replace(&secret(), "[hidden]")
    }

    fn shown_of(line: String) -> String {
        shown(line, &|line| hidden(&line))
    }

    fn secret() -> String {
        "s".repeat(LINE_CHARS + 50)
    }

    #[test]
    fn pattern_without_regular_expression_is_text() {
        for (pattern, expected, is_text) in [
            ("evenly(", r"evenly\(", true),
            ("a[0", r"a\[0", true),
            ("*.rs", r"\*\.rs", true),
            (r"evenly\(", r"evenly\(", false),
            ("two|three", "two|three", false),
            ("(a{1000}){1000}", "(a{1000}){1000}", false),
        ] {
            let (searched, note) = searched(pattern);
            assert_eq!(
                (searched.as_ref(), !note.is_empty()),
                (expected, is_text),
                "{pattern}"
            );
        }
    }

    #[test]
    fn secret_is_redacted_before_the_cut() {
        assert_eq!(
            shown_of(format!("key {} end", secret())),
            "key [hidden] end"
        );
        let long = shown_of(format!("{}{}", "x".repeat(LINE_CHARS - 5), secret()));
        assert!(
            !long.contains('s') && long.chars().count() == LINE_CHARS,
            "{long}"
        );
    }

    #[test]
    fn partial_line_shows_no_partial_secret() {
        let mut line = secret().repeat(LINE_BYTES / secret().len() + 1);
        line.truncate(LINE_BYTES);
        assert!(hidden(&line).ends_with('s'), "the last one is cut in half");
        assert_eq!(shown_of(line), "…");
        assert_eq!(shown_of("x".repeat(LINE_BYTES)).chars().count(), LINE_CHARS);
    }
}
