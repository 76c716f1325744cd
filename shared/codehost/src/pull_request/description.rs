//! The description that an agent submits: the input to `submit_pr_description`.

use serde::Deserialize;

/// Maximum length of a pull request title in characters.
pub(super) const MAX_TITLE_CHARS: usize = 200;
/// Maximum length of a single part in a pull request's description, in characters.
const MAX_PART_CHARS: usize = 20_000;
/// Maximum number of steps in a description's tour, and of entries in the lists.
const MAX_ENTRIES: usize = 40;

/// Describes a change. A model wrote the texts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Description {
    /// The pull request's title.
    pub title: String,
    /// The change in one or two sentences.
    pub tldr: String,
    /// The change and the reason for it.
    pub what_why: String,
    /// A walk through the change.
    #[serde(default)]
    pub tour: Vec<TourStep>,
    /// Work that still has to be done.
    #[serde(default)]
    pub remaining: Vec<String>,
    /// Decisions that the agent took.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// Risks that the change brings.
    #[serde(default)]
    pub risks: Vec<String>,
    /// How the change was validated, in the agent's words.
    #[serde(default)]
    pub validation: String,
}

/// A step in a tour.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TourStep {
    /// The step's title.
    pub title: String,
    /// What the step shows.
    pub description: String,
    /// A hint for the reader.
    #[serde(default)]
    pub look_for: Option<String>,
    /// Where the step stands in the code.
    pub anchor: TourAnchor,
}

/// Where a step stands in the code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TourAnchor {
    /// Path of the file.
    pub path: String,
    /// First line of the range.
    pub from: u64,
    /// Last line of the range, inclusive.
    pub to: u64,
}

/// Why a description is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDescription {
    /// The input has another form. The text names the field, without the value.
    #[error("the description has another form: {0}")]
    Form(String),
    /// A text is missing.
    #[error("`{0}` must not be empty")]
    Empty(&'static str),
    /// A text is too long.
    #[error("`{field}` must have at most {max} characters")]
    TooLong {
        /// Name of the field.
        field: &'static str,
        /// The limit in characters.
        max: usize,
    },
    /// A list is too long.
    #[error("`{0}` must have at most {MAX_ENTRIES} entries")]
    TooMany(&'static str),
    /// A step's range is reversed, or has no line 0.
    #[error("`tour` has an anchor without lines")]
    Anchor,
}

impl Description {
    /// Parses and checks a call's input. The last valid call in a run counts.
    ///
    /// # Errors
    /// Returns what the agent has to change.
    pub fn parse(input: &serde_json::Value) -> Result<Self, InvalidDescription> {
        let parsed = Self::deserialize(input)
            .map_err(|error| InvalidDescription::Form(error.to_string()))?;
        for (field, text) in [
            ("title", &parsed.title),
            ("tldr", &parsed.tldr),
            ("whatWhy", &parsed.what_why),
        ] {
            if text.trim().is_empty() {
                return Err(InvalidDescription::Empty(field));
            }
        }
        within("title", &parsed.title, MAX_TITLE_CHARS)?;
        for (field, text) in [
            ("tldr", &parsed.tldr),
            ("whatWhy", &parsed.what_why),
            ("validation", &parsed.validation),
        ] {
            within(field, text, MAX_PART_CHARS)?;
        }
        for (field, entries) in [
            ("remaining", &parsed.remaining),
            ("decisions", &parsed.decisions),
            ("risks", &parsed.risks),
        ] {
            if entries.len() > MAX_ENTRIES {
                return Err(InvalidDescription::TooMany(field));
            }
            entries
                .iter()
                .try_for_each(|entry| within(field, entry, MAX_PART_CHARS))?;
        }
        if parsed.tour.len() > MAX_ENTRIES {
            return Err(InvalidDescription::TooMany("tour"));
        }
        for TourStep {
            description,
            anchor,
            ..
        } in &parsed.tour
        {
            within("tour", description, MAX_PART_CHARS)?;
            if anchor.from == 0 || anchor.to < anchor.from {
                return Err(InvalidDescription::Anchor);
            }
        }
        Ok(parsed)
    }
}

fn within(field: &'static str, text: &str, max: usize) -> Result<(), InvalidDescription> {
    if text.chars().count() > max {
        Err(InvalidDescription::TooLong { field, max })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn input() -> Value {
        json!({
            "title": "Fix the login", "tldr": "It works.", "whatWhy": "Because.", "validation": "cargo test",
            "tour": [{ "title": "a", "description": "b", "anchor": { "path": "f", "from": 1, "to": 2 } }],
            "remaining": ["x"], "decisions": [], "risks": [],
        })
    }

    #[test]
    fn description_of_the_tool_is_parsed() {
        let parsed = Description::parse(&input()).unwrap();
        assert_eq!(
            (parsed.title.as_str(), parsed.tour[0].anchor.to),
            ("Fix the login", 2)
        );
        let least = json!({ "title": "t", "tldr": "a", "whatWhy": "b" });
        assert!(Description::parse(&least).is_ok());
    }

    #[test]
    fn invalid_descriptions_name_the_field() {
        let cases: [(&str, Value, &str); 8] = [
            ("/title", json!(" "), "`title` must not be empty"),
            (
                "/title",
                json!("x".repeat(201)),
                "`title` must have at most 200 characters",
            ),
            ("/whatWhy", json!(""), "`whatWhy` must not be empty"),
            (
                "/tldr",
                json!("x".repeat(20_001)),
                "`tldr` must have at most 20000 characters",
            ),
            (
                "/risks",
                json!(vec!["x"; 41]),
                "`risks` must have at most 40 entries",
            ),
            (
                "/tour/0/anchor/from",
                json!(3),
                "`tour` has an anchor without lines",
            ),
            (
                "/tour/0/anchor/from",
                json!(0),
                "`tour` has an anchor without lines",
            ),
            (
                "/tour/0/anchor",
                json!({}),
                "the description has another form: missing field `path`",
            ),
        ];
        for (at, value, expected) in cases {
            let mut changed = input();
            *changed.pointer_mut(at).unwrap() = value;
            assert_eq!(
                Description::parse(&changed).unwrap_err().to_string(),
                expected,
                "{at}"
            );
        }
        let unknown = json!({ "title": "t", "tldr": "a", "whatWhy": "b", "merge": true });
        assert!(Description::parse(&unknown).is_err());
    }
}
