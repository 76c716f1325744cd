//! A rehearsal's script as parsed from a file. The parent module describes the format.

use std::{fs::File, io::Read as _, path::Path};

use crate::error::ScriptError;
use serde::Deserialize;
use serde_json::Value;

/// Largest script: a hand-written file is a few kilobytes.
pub(crate) const SCRIPT_BYTES: u64 = 1024 * 1024;

/// A parsed rehearsal script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// The script's answers, in order.
    pub(super) turn: Vec<ScriptStep>,
}

/// A single answer in the script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptStep {
    /// Prose in the answer.
    pub(super) text: Option<String>,
    /// Tool calls in order.
    #[serde(default)]
    pub(super) call: Vec<ScriptCall>,
    when_last_result_contains: Option<String>,
    when_last_result_lacks: Option<String>,
    when_request_contains: Option<String>,
}

/// A scripted tool call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptCall {
    /// The called tool's name.
    pub(super) tool: String,
    /// The call's arguments; none when absent.
    #[serde(default = "no_input")]
    pub(super) input: Value,
}

fn no_input() -> Value {
    Value::Object(serde_json::Map::new())
}

impl Script {
    pub(super) fn load(path: &Path) -> Result<Self, ScriptError> {
        let mut text = String::new();
        let file = File::open(path).map_err(ScriptError::Unreadable)?;
        file.take(SCRIPT_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(ScriptError::Unreadable)?;
        if text.len() as u64 > SCRIPT_BYTES {
            return Err(ScriptError::TooLarge {
                limit: SCRIPT_BYTES,
            });
        }
        let json = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        if json {
            Self::from_json(&text)
        } else {
            Self::from_toml(&text)
        }
    }

    pub(super) fn from_toml(text: &str) -> Result<Self, ScriptError> {
        let script = toml::from_str::<Self>(text);
        script
            .map_err(|error| ScriptError::Malformed(error.message().to_owned()))?
            .checked()
    }

    pub(super) fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script = serde_json::from_str::<Self>(text);
        script
            .map_err(|error| ScriptError::Malformed(error.to_string()))?
            .checked()
    }

    fn checked(self) -> Result<Self, ScriptError> {
        let idle = |step: &ScriptStep| {
            step.call.is_empty()
                && step
                    .text
                    .as_deref()
                    .is_none_or(|text| text.trim().is_empty())
        };
        match self.turn.iter().position(idle) {
            Some(index) => Err(ScriptError::EmptyTurn(index + 1)),
            None => Ok(self),
        }
    }
}

impl ScriptStep {
    /// Returns whether the step's conditions hold.
    pub(super) fn applies(&self, request: &str, last_result: &str) -> bool {
        let holds = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|words| text.contains(words))
        };
        holds(&self.when_last_result_contains, last_result)
            && holds(&self.when_request_contains, request)
            && self
                .when_last_result_lacks
                .as_ref()
                .is_none_or(|words| !last_result.contains(words))
    }
}
