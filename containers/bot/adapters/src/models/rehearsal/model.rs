//! The scripted model.

use std::path::Path;

use ars_agent::{ModelTurn, Part, Role, StopReason, ToolContent, Turn, Usage};
use ars_bot_ports::{ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest};
use async_trait::async_trait;
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::script::{Script, ScriptStep};
use crate::error::ScriptError;

/// The label, and the prefix for all the script's prose.
const LABEL: &str = "rehearsal";
const MARKER: &str = "[rehearsal] ";
const ENDED: &str = "The script has ended.";
/// The answer when a run is wrapped up before the script's end.
const CUT_SHORT: &str = "The run is ending before the script has.";

/// A model that follows a script.
#[derive(Debug)]
pub struct Rehearsal {
    script: Script,
}

impl Rehearsal {
    /// Reads the script from a file.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        Ok(Self {
            script: Script::load(path)?,
        })
    }

    /// Parses a script in TOML.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Ok(Self {
            script: Script::from_toml(text)?,
        })
    }

    fn answer(&self, turns: &[Turn], may_call_tools: bool) -> Vec<Part> {
        let step = self.next(turns);
        let text = match step {
            None => ENDED,
            Some(step) if !step.call.is_empty() && !may_call_tools => CUT_SHORT,
            Some(step) => step.text.as_deref().unwrap_or_default(),
        };
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(Part::text(format!("{MARKER}{text}")));
        }
        let calls = step
            .filter(|_| may_call_tools)
            .map(|step| step.call.as_slice())
            .unwrap_or_default();
        // Ids must differ within the conversation only, and every answer makes it longer.
        let calls = calls
            .iter()
            .enumerate()
            .map(|(index, call)| Part::ToolCall {
                call_id: format!("{LABEL}_{}_{index}", turns.len()),
                name: call.tool.clone(),
                input: call.input.clone(),
                extra: Map::new(),
            });
        parts.extend(calls);
        parts
    }

    /// Returns the next step, found by replaying the answers since the requester's last text.
    fn next(&self, turns: &[Turn]) -> Option<&ScriptStep> {
        let start = turns.iter().rposition(is_request).unwrap_or(0);
        let request = turns.get(start).map(words).unwrap_or_default();
        let mut steps = self.script.turn.iter();
        let mut last_result = String::new();
        for turn in turns.iter().skip(start + 1) {
            match turn.role {
                Role::Assistant => {
                    steps.find(|step| step.applies(&request, &last_result))?;
                }
                Role::User => last_result = results(turn),
            }
        }
        steps.find(|step| step.applies(&request, &last_result))
    }
}

#[async_trait]
impl ModelClient for Rehearsal {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError {
                kind: ModelErrorKind::Cancelled,
                message: "the run was stopped".into(),
            });
        }
        let parts = self.answer(request.turns, request.may_call_tools);
        for part in &parts {
            if let Part::Text { text, .. } = part {
                deltas(ModelDelta::Text(text.clone()));
            }
        }
        let calls = parts
            .iter()
            .any(|part| matches!(part, Part::ToolCall { .. }));
        let stop = if calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        };
        Ok(ModelTurn {
            parts,
            stop,
            usage: Usage::default(),
        })
    }

    fn label(&self) -> Option<&str> {
        Some(LABEL)
    }
}

/// Returns whether a turn is the requester's text, not tool results or hints added to them.
fn is_request(turn: &Turn) -> bool {
    turn.role == Role::User
        && !turn
            .parts
            .iter()
            .any(|part| matches!(part, Part::ToolResult { .. }))
}

fn words(turn: &Turn) -> String {
    let texts = turn.parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn results(turn: &Turn) -> String {
    let contents = turn.parts.iter().filter_map(|part| match part {
        Part::ToolResult { content, .. } => Some(content),
        _ => None,
    });
    let texts = contents.flatten().filter_map(|piece| match piece {
        ToolContent::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
