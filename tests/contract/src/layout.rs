//! Renders JSON as readable text: few lines within the width, long lists and texts by their ends and digest.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Columns of a line.
pub(crate) const WIDTH: usize = 116;
/// Maximum entries of a list that is rendered whole.
const MAX_ENTRIES: usize = 12;
/// Maximum characters of a text that is rendered whole.
const MAX_CHARS: usize = 160;
/// Maximum characters of a value in a case's name.
const MAX_NAME_CHARS: usize = 40;

/// Renders a value in lines. The first starts at column `indent`.
pub(crate) fn layout(value: &Value, indent: usize) -> String {
    lines(&shorten(value), indent)
}

/// Renders a value on one line, truncated.
pub(crate) fn short(value: &Value) -> String {
    let text = shorten(value).to_string();
    match text.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}… #{}", &text[..end], digest(&value.to_string())),
        None => text,
    }
}

fn lines(value: &Value, indent: usize) -> String {
    let flat = value.to_string();
    if indent + flat.chars().count() <= WIDTH {
        return flat;
    }
    let (open, close, parts): (_, _, Vec<String>) = match value {
        Value::Array(entries) => ('[', ']', entries.iter().map(|entry| lines(entry, indent + 1)).collect()),
        Value::Object(fields) => {
            let field = |(name, field): (&String, &Value)| {
                let name = Value::from(name.as_str()).to_string();
                format!("{name}:{}", lines(field, indent + 2 + name.chars().count()))
            };
            ('{', '}', fields.iter().map(field).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return flat,
    };
    fill(open, close, &parts, indent)
}

/// Joins parts, with a line break where the next part does not fit.
fn fill(open: char, close: char, parts: &[String], indent: usize) -> String {
    let margin = " ".repeat(indent + 1);
    let mut text = String::from(open);
    let mut column = indent + 1;
    for (index, part) in parts.iter().enumerate() {
        let first = part.lines().next().unwrap_or_default().chars().count();
        let comma = usize::from(index + 1 < parts.len());
        if index > 0 && (part.contains('\n') || column + first + comma > WIDTH) {
            text.push('\n');
            text.push_str(&margin);
            column = indent + 1;
        }
        text.push_str(part);
        if comma == 1 {
            text.push(',');
        }
        let last = part.lines().last().unwrap_or_default().chars().count();
        column = if part.contains('\n') { WIDTH } else { column + last + comma };
    }
    text.push(close);
    text
}

fn shorten(value: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > MAX_CHARS => {
            let head: String = text.chars().take(12).collect();
            Value::from(format!("{head}… {} characters, #{}", text.chars().count(), digest(text)))
        }
        Value::Array(entries) if entries.len() > MAX_ENTRIES => {
            let head = &entries[..2];
            let tail = &entries[entries.len() - 2..];
            let middle = Value::from(format!("… {} in all, #{}", entries.len(), digest(&value.to_string())));
            head.iter().map(shorten).chain([middle]).chain(tail.iter().map(shorten)).collect()
        }
        Value::Array(entries) => entries.iter().map(shorten).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), shorten(field))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Returns an eight-digit digest of a text.
pub(crate) fn digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    format!("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3])
}
