//! Answers in blocks: the form that a model is asked for, read and written as Markdown.

use std::fmt::{self, Display, Formatter};

use serde::Deserialize;

/// How often a model is asked again for an answer in the form.
pub const MAX_REASKS: usize = 2;
/// Begins a text that asks again.
pub const REASK: &str = "Your answer does not have the required form: ";
/// Maximum blocks in an answer.
const MAX_BLOCKS: usize = 200;
/// Maximum bullets in a block.
const MAX_BULLETS: usize = 200;
/// Schemes of links.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];
/// Shortest fence of a code block.
const FENCE: &str = "```";

/// The part of a system prompt that asks for the form.
pub const INSTRUCTIONS: &str = r#"The form of your final answer: one JSON object and nothing else, {"blocks": [...]}. Each block is one of:
{"type": "heading", "text": "..."}
{"type": "paragraph", "text": "..."}
{"type": "bullets", "items": ["...", "..."]}
{"type": "code", "text": "...", "language": "..."} (the language may be absent)
{"type": "link", "url": "https://...", "text": "..."} (the text may be absent)
{"type": "status", "state": "ok", "text": "..."} (the state is ok, warning or failed)
Texts are Markdown for a line or a paragraph, except the text of code, which is shown as it is."#;

/// An answer in blocks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    blocks: Vec<Block>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Block {
    Heading {
        text: String,
    },
    Paragraph {
        text: String,
    },
    Bullets {
        items: Vec<String>,
    },
    Code {
        text: String,
        language: Option<String>,
    },
    Link {
        url: String,
        text: Option<String>,
    },
    Status {
        state: State,
        text: String,
    },
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warning,
    Failed,
}

/// Why a text is no answer in blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidBlocks(String);

impl InvalidBlocks {
    /// Returns the text that asks the model for the whole answer again.
    pub fn reask(&self) -> String {
        format!("{REASK}{self}. Send the whole answer again.\n\n{INSTRUCTIONS}")
    }
}

impl Display for InvalidBlocks {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidBlocks {}

/// Returns an answer in blocks as Markdown.
///
/// # Errors
/// It is no JSON in the form of [`INSTRUCTIONS`], or a block is empty or too long.
pub fn read(answer: &str) -> Result<String, InvalidBlocks> {
    match split(answer) {
        ("", blocks, "") => to_markdown(blocks),
        _ => to_markdown(answer),
    }
}

/// Returns a text whose part in blocks is Markdown, such as one with a notice before the model's
/// words, or `None` if it has no such part.
pub fn read_within(text: &str) -> Option<String> {
    let (before, blocks, after) = split(text);
    let markdown = to_markdown(blocks).ok()?;
    let parts = [before, markdown.as_str(), after];
    let filled: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some(filled.join("\n\n"))
}

/// Splits a text at the JSON object, without the code block into which models put it.
fn split(text: &str) -> (&str, &str, &str) {
    let (Some(start), Some(last)) = (text.find('{'), text.rfind('}')) else {
        return ("", text, "");
    };
    let Some(object) = text.get(start..=last) else {
        return ("", text, "");
    };
    let (before, after) = (text[..start].trim(), text[last + 1..].trim());
    let opened = before
        .strip_suffix(FENCE)
        .or_else(|| before.strip_suffix("json")?.strip_suffix(FENCE));
    match (opened, after.strip_prefix(FENCE)) {
        (Some(before), Some(after)) => (before.trim_end(), object, after.trim_start()),
        _ => (before, object, after),
    }
}

fn to_markdown(json: &str) -> Result<String, InvalidBlocks> {
    let Blocks { blocks } =
        serde_json::from_str(json).map_err(|error| InvalidBlocks(error.to_string()))?;
    if blocks.is_empty() || blocks.len() > MAX_BLOCKS {
        return Err(InvalidBlocks(format!(
            "`blocks` must have 1 to {MAX_BLOCKS} entries"
        )));
    }
    let texts = blocks.iter().enumerate().map(|(index, block)| {
        block
            .to_markdown()
            .map_err(|wrong| InvalidBlocks(format!("`blocks[{index}].{wrong}")))
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n\n"))
}

impl Block {
    /// Returns the block, or the field that is wrong and why.
    fn to_markdown(&self) -> Result<String, String> {
        match self {
            Self::Heading { text } => Ok(format!("## {}", line("text", text)?)),
            Self::Paragraph { text } => filled("text", text).map(str::to_owned),
            Self::Bullets { items } if items.is_empty() || items.len() > MAX_BULLETS => {
                Err(format!("items` must have 1 to {MAX_BULLETS} entries"))
            }
            Self::Bullets { items } => {
                let bullets = items.iter().map(|item| Ok(bullet(filled("items", item)?)));
                Ok(bullets.collect::<Result<Vec<_>, String>>()?.join("\n"))
            }
            Self::Code { text, language } => code(text, language.as_deref().unwrap_or_default()),
            Self::Link { url, text } => link(url, text.as_deref().unwrap_or(url)),
            Self::Status { state, text } => {
                let glyph = match state {
                    State::Ok => "✅",
                    State::Warning => "⚠️",
                    State::Failed => "❌",
                };
                Ok(format!("{glyph} {}", line("text", text)?))
            }
        }
    }
}

fn filled<'a>(field: &str, text: &'a str) -> Result<&'a str, String> {
    match text.trim() {
        "" => Err(format!("{field}` must not be empty")),
        text => Ok(text),
    }
}

fn line<'a>(field: &str, text: &'a str) -> Result<&'a str, String> {
    let text = filled(field, text)?;
    match text.contains('\n') {
        true => Err(format!("{field}` must be one line")),
        false => Ok(text),
    }
}

/// Further lines stay in the bullet.
fn bullet(item: &str) -> String {
    format!("- {}", item.replace('\n', "\n  "))
}

fn code(text: &str, language: &str) -> Result<String, String> {
    if language.contains(|c: char| c == '`' || c.is_whitespace()) {
        return Err("language` must be one word".to_owned());
    }
    let mut fence = FENCE.to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    Ok(format!(
        "{fence}{language}\n{}\n{fence}",
        text.trim_end_matches('\n')
    ))
}

fn link(url: &str, text: &str) -> Result<String, String> {
    let is_url = SCHEMES.iter().any(|scheme| url.starts_with(scheme));
    if !is_url || url.contains(|c: char| c.is_whitespace() || c.is_control() || "<>".contains(c)) {
        return Err(
            "url` must be an address that begins with https://, http:// or mailto:".to_owned(),
        );
    }
    let text = line("text", text)?
        .replace('\\', r"\\")
        .replace('[', r"\[")
        .replace(']', r"\]");
    Ok(format!("[{text}](<{url}>)"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_become_markdown() {
        let answer = json!({ "blocks": [
            { "type": "status", "state": "warning", "text": "One test is slow" },
            { "type": "heading", "text": " Result " },
            { "type": "paragraph", "text": "All *pass*." },
            { "type": "bullets", "items": ["a", "b\nc"] },
            { "type": "code", "text": "a ``` b\n", "language": "sh" },
            { "type": "link", "url": "https://a.b/c", "text": "the [run]" },
            { "type": "link", "url": "https://a.b" },
        ] });
        let expected = "⚠️ One test is slow\n\n## Result\n\nAll *pass*.\n\n- a\n- b\n  c\n\n\
            ````sh\na ``` b\n````\n\n[the \\[run\\]](<https://a.b/c>)\n\n[https://a.b](<https://a.b>)";
        assert_eq!(read(&answer.to_string()).unwrap(), expected);
        for fenced in [
            format!("```json\n{answer}\n```"),
            format!("```\n{answer}```\n"),
        ] {
            assert_eq!(read(&fenced).unwrap(), expected);
        }
    }

    #[test]
    fn blocks_are_read_within_a_text() {
        let blocks = r#"{"blocks": [{"type": "paragraph", "text": "done {x}"}]}"#;
        for (text, expected) in [
            (blocks.to_owned(), Some("done {x}")),
            (
                format!("⚠️ ended\n\n{blocks}\n\ncut"),
                Some("⚠️ ended\n\ndone {x}\n\ncut"),
            ),
            (
                format!("⚠️ ended\n\n```json\n{blocks}\n```"),
                Some("⚠️ ended\n\ndone {x}"),
            ),
            ("no blocks {}".to_owned(), None),
            ("} and {".to_owned(), None),
        ] {
            assert_eq!(read_within(&text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn wrong_blocks_are_named() {
        for (blocks, words) in [
            (json!([]), "`blocks` must have 1"),
            (
                json!(vec![
                    json!({"type": "heading", "text": "x"});
                    MAX_BLOCKS + 1
                ]),
                "1 to 200",
            ),
            (json!([{"type": "table"}]), "unknown variant `table`"),
            (json!([{"type": "heading"}]), "missing field `text`"),
            (
                json!([{"type": "heading", "text": "x", "level": 2}]),
                "unknown field `level`",
            ),
            (
                json!([{"type": "heading", "text": "x\ny"}]),
                "`blocks[0].text` must be one line",
            ),
            (
                json!([{"type": "paragraph", "text": " "}]),
                "`blocks[0].text` must not be empty",
            ),
            (
                json!([{"type": "bullets", "items": []}]),
                "`blocks[0].items` must have",
            ),
            (
                json!([{"type": "bullets", "items": ["a", ""]}]),
                "`blocks[0].items` must not",
            ),
            (
                json!([{"type": "code", "text": "x", "language": "a b"}]),
                "`blocks[0].language`",
            ),
            (
                json!([{"type": "link", "url": "javascript:x"}]),
                "`blocks[0].url` must be an address",
            ),
            (
                json!([{"type": "link", "url": "https://a b"}]),
                "`blocks[0].url` must be an address",
            ),
            (
                json!([{"type": "status", "state": "good", "text": "x"}]),
                "unknown variant `good`",
            ),
        ] {
            let error = read(&json!({ "blocks": blocks }).to_string()).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            assert!(error.reask().contains(INSTRUCTIONS));
        }
        for text in ["", "All tests pass.", "{}", r#"{"blocks": [], "more": 1}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
