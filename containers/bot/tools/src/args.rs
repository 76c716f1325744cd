//! Parses arguments, with errors that name field and expected type, never the model's value.

use serde_json::{Map, Value};

use super::ToolOutput;

/// Maximum characters of an unknown field's name in an error.
const NAME_CHARS: usize = 40;

/// A call's arguments.
pub(super) struct Args<'a> {
    fields: &'a Map<String, Value>,
}

impl<'a> Args<'a> {
    /// Parses an object with known fields. Text that was not valid JSON arrives as a string.
    pub(super) fn parse(input: &'a Value, known: &[&str]) -> Result<Self, ToolOutput> {
        let fields = match input {
            Value::Object(fields) => fields,
            Value::String(_) => {
                return Err(ToolOutput::refused(
                    "The arguments are not valid JSON. Send one JSON object.",
                ));
            }
            _ => {
                return Err(ToolOutput::refused(
                    "The arguments must be one JSON object.",
                ));
            }
        };
        match fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let fields = match known {
                    [] => "There are none".to_owned(),
                    known => format!("The fields are: {}", known.join(", ")),
                };
                let name = ars_events::cap(name, NAME_CHARS);
                Err(ToolOutput::refused(format!(
                    "There is no field `{name}`. {fields}."
                )))
            }
            None => Ok(Self { fields }),
        }
    }

    /// Returns a required text.
    pub(super) fn text(&self, field: &str) -> Result<&'a str, ToolOutput> {
        self.optional_text(field)?.ok_or_else(|| {
            ToolOutput::refused(format!("`{field}` is required and must be a string."))
        })
    }

    /// Returns an optional text.
    pub(super) fn optional_text(&self, field: &str) -> Result<Option<&'a str>, ToolOutput> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ToolOutput::refused(format!("`{field}` must be a string."))),
        }
    }

    /// Returns an optional non-negative integer.
    pub(super) fn optional_count(&self, field: &str) -> Result<Option<u64>, ToolOutput> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| {
                ToolOutput::refused(format!("`{field}` must be a whole number, not negative."))
            }),
        }
    }

    /// Returns an item's required number.
    pub(super) fn number(&self) -> Result<u64, ToolOutput> {
        let number = self.optional_count("number")?.filter(|number| *number > 0);
        number.ok_or_else(|| ToolOutput::refused("`number` is required and must be 1 or more."))
    }

    /// Returns the first character to show.
    pub(super) fn offset(&self) -> Result<usize, ToolOutput> {
        Ok(self
            .optional_count("offset")?
            .map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX)))
    }

    /// Returns an optional text list.
    pub(super) fn texts(&self, field: &str) -> Result<Option<Vec<String>>, ToolOutput> {
        let wrong = || ToolOutput::refused(format!("`{field}` must be a list of strings."));
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(entries)) => {
                let texts = entries
                    .iter()
                    .map(|entry| entry.as_str().map(str::to_owned));
                texts
                    .collect::<Option<Vec<_>>>()
                    .map(Some)
                    .ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Returns a flag, `false` when absent.
    pub(super) fn flag(&self, field: &str) -> Result<bool, ToolOutput> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(ToolOutput::refused(format!(
                "`{field}` must be true or false."
            ))),
        }
    }
}

/// Returns a text field from any input, for summaries. Never fails.
pub(super) fn peek<'a>(input: &'a Value, field: &str) -> &'a str {
    input.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Joins a text's lines, for summaries.
pub(super) fn one_line(text: &str) -> String {
    text.trim()
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join(" ⏎ ")
}
