//! Configuration text syntaxes, and the strict parser.
//!
//! Not here: the keys (`file.rs`).

use std::path::Path;

use serde_saphyr::Error as YamlError;

use super::File;
use crate::error::ConfigError;

/// A configuration text's syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The text is TOML.
    Toml,
    /// YAML 1.2: `no` and `1.10` as texts stay what they are.
    Yaml,
    /// The text is JSON.
    Json,
}

impl Format {
    /// Returns a file's syntax by extension. Without a known extension it is TOML.
    pub fn for_path(path: &Path) -> Self {
        let extension = path
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Self::Yaml,
            "json" => Self::Json,
            _ => Self::Toml,
        }
    }

    /// Returns a line's key, if it has a key that is no part of a value.
    fn key_of(self, line: &str) -> Option<&str> {
        let (key, _) = line.split_once(if self == Self::Toml { '=' } else { ':' })?;
        let key = match self {
            Self::Toml => key.trim(),
            Self::Yaml => key.trim().trim_start_matches("- "),
            Self::Json => key.trim().strip_prefix('"')?.strip_suffix('"')?,
        };
        // Within a list or a long text, the characters before the separator may be the beginning of a secret.
        key.chars()
            .all(|c| c.is_ascii_alphabetic() || "_.".contains(c))
            .then_some(key)
    }
}

/// Reads and validates a file.
pub fn load(path: &Path) -> Result<File, ConfigError> {
    parse(
        &std::fs::read_to_string(path).map_err(ConfigError::Unreadable)?,
        Format::for_path(path),
    )
}

/// Validates a configuration text.
pub fn parse(text: &str, format: Format) -> Result<File, ConfigError> {
    let (line, message) = match format {
        Format::Toml => match toml::from_str(text) {
            Ok(file) => return Ok(file),
            Err(error) => (toml_line(text, &error), error.message().to_owned()),
        },
        Format::Json => match serde_json::from_str(text) {
            Ok(file) => return Ok(file),
            Err(error) => (error.line(), json_message(&error)),
        },
        Format::Yaml => match yaml(text) {
            Ok(file) => return Ok(file),
            Err(error) => (yaml_line(&error), yaml_message(&error)),
        },
    };
    let source = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let key = format
        .key_of(source)
        .map(|key| format!(", `{key}`"))
        .unwrap_or_default();
    Err(ConfigError::Malformed {
        line: line.max(1),
        key,
        problem: without_values(&message),
    })
}

fn yaml(text: &str) -> Result<File, YamlError> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
}

fn toml_line(text: &str, error: &toml::de::Error) -> usize {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    text[..start].matches('\n').count() + 1
}

fn json_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(problem, _)| problem)
        .to_owned()
}

fn yaml_line(error: &YamlError) -> usize {
    error
        .location()
        .and_then(|location| usize::try_from(location.line()).ok())
        .unwrap_or(1)
}

/// Returns the problem without the place and the source, which the error's text may quote.
fn yaml_message(error: &YamlError) -> String {
    match error.without_snippet() {
        YamlError::Message { msg, .. } => msg.clone(),
        YamlError::SerdeUnknownField { field, .. } => format!("unknown field `{field}`"),
        YamlError::SerdeMissingField { field, .. } => format!("missing field `{field}`"),
        YamlError::SerdeInvalidType { expected, .. }
        | YamlError::SerdeInvalidValue { expected, .. } => {
            format!("expected {expected}")
        }
        YamlError::SerdeUnknownVariant { expected, .. } => {
            format!("expected one of {}", expected.join(", "))
        }
        YamlError::InvalidScalar { ty, .. } => format!("expected {ty}"),
        YamlError::Unexpected { expected, .. } => format!("expected {expected}"),
        YamlError::DuplicateMappingKey { .. } => "the key is there twice".to_owned(),
        _ => "is not valid YAML".to_owned(),
    }
}

/// Removes the offending value, which serde quotes before the expected form, but not field names.
fn without_values(message: &str) -> String {
    if let Some(key) = message
        .strip_prefix("duplicate field `")
        .and_then(|rest| rest.strip_suffix('`'))
    {
        return twice(key);
    }
    if message.starts_with("unknown field") || message.starts_with("missing field") {
        return ars_events::redact(message).into_owned();
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => message.to_owned(),
    }
}

/// Returns the problem for a key that appears in both spellings, or twice in the same.
fn twice(key: &str) -> String {
    let mut alias = String::with_capacity(key.len());
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            alias.push('_');
        }
        alias.push(c.to_ascii_lowercase());
    }
    if alias == key {
        return format!("`{key}` is there twice");
    }
    format!("`{key}` and `{alias}` are two spellings of one key, which must be there once")
}
