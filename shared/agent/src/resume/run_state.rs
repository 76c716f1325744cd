//! A run's durable state beside the steps: the `state` object of the ledger row.
//!
//! Every field is read by itself, so a field that this version cannot read costs no other. Unknown
//! fields are kept.

use ars_types::RunStatus;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::Attempts;

/// A run's durable state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunState {
    /// The token that opens the run's page, wherever the run continues.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient"
    )]
    pub view_token: Option<String>,
    /// The system prompt, which is known only after the claim. It overrides the row's.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient"
    )]
    pub system: Option<String>,
    /// The run's part in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
    /// The first events, until the ledger has them as events.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient"
    )]
    pub head: Option<Vec<Value>>,
    /// Present when the run continued although a step could not be stored.
    /// The stored steps are then incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unresumable: Option<Value>,
    /// Status, present from before the run takes `finishing`. Read it with [`RunState::final_status`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_status: Option<Value>,
    /// Whether the reply is known to be delivered; `false` from before it is tried.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient"
    )]
    pub replied: Option<bool>,
    /// Where the current step's events begin.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient"
    )]
    pub step_events: Option<StepEvents>,
    /// How often the run was resumed at the same step.
    #[serde(
        default,
        rename = "resume",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient"
    )]
    pub attempts: Option<Attempts>,
    /// The request of a run that waits for a slot. Another process starts the run from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<Value>,
    /// The branch that the run's commits are pushed to.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient"
    )]
    pub branch: Option<String>,
    /// The run's tests and builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Value>,
    /// The pull request that a coding run's request names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<Value>,
    /// The pull request under review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Value>,
    /// Fields from a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Where a step's events begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEvents {
    /// The step that the events belong to.
    pub step: u64,
    /// The last seq before the step's events.
    pub after: u64,
}

impl RunState {
    /// Reads the state from a row.
    pub fn of_row(state: &Map<String, Value>) -> Self {
        // Each field reads leniently, so the whole cannot fail.
        Self::deserialize(state).unwrap_or_default()
    }

    /// Returns the state as the row stores it.
    pub fn to_row(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(state)) => state,
            // Every field has a JSON form.
            _ => Map::new(),
        }
    }

    /// Records how the run ended, and whether the reply was delivered.
    pub fn set_ended(&mut self, status: RunStatus, replied: bool) {
        self.final_status = Some(status.as_str().into());
        self.replied = Some(replied);
    }

    /// Removes how the run ended.
    pub fn clear_final_status(&mut self) {
        self.final_status = None;
    }

    /// Whether the run had ended, possibly with a status that this version does not know.
    pub fn has_ended(&self) -> bool {
        self.final_status.is_some()
    }

    /// How the run ended, if this version knows the status.
    pub fn final_status(&self) -> Option<RunStatus> {
        self.final_status
            .as_ref()
            .and_then(Value::as_str)
            .and_then(RunStatus::parse)
    }
}

/// Reads a field; a value with another shape counts as absent.
fn lenient<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(field)?).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run_state(state: &Value) -> RunState {
        RunState::of_row(state.as_object().unwrap())
    }

    /// Rows from earlier and later releases hold this very text.
    #[test]
    fn stored_bytes_are_fixed() {
        let mut state = RunState {
            view_token: Some("t".into()),
            system: Some("You are.".into()),
            memory: Some(json!({ "priorTurns": 1 })),
            head: Some(vec![json!({ "seq": 1 })]),
            unresumable: Some(7.into()),
            step_events: Some(StepEvents { step: 2, after: 9 }),
            attempts: Some(Attempts {
                step: 2,
                attempts: 1,
            }),
            ..RunState::default()
        };
        state.set_ended(RunStatus::StoppedSoft, false);
        state.extra.insert("later".into(), json!([true]));
        let text = concat!(
            r#"{"viewToken":"t","system":"You are.","memory":{"priorTurns":1},"head":[{"seq":1}],"#,
            r#""unresumable":7,"finalStatus":"stopped_soft","replied":false,"stepEvents":{"step":2,"after":9},"#,
            r#""resume":{"step":2,"attempts":1},"later":[true]}"#,
        );
        assert_eq!(Value::Object(state.to_row()).to_string(), text);
        assert_eq!(run_state(&serde_json::from_str(text).unwrap()), state);
        assert_eq!(Value::Object(RunState::default().to_row()), json!({}));
    }

    #[test]
    fn unreadable_field_costs_no_other() {
        let state = run_state(&json!({
            "viewToken": 5, "system": null, "head": {}, "replied": "yes", "stepEvents": { "step": -1 },
            "resume": 3, "memory": null, "finalStatus": "fine", "unresumable": "part 0 of turn 6",
        }));
        let (has_ended, status) = (state.has_ended(), state.final_status());
        assert_eq!((has_ended, status), (true, None));
        assert_eq!(state.unresumable, Some("part 0 of turn 6".into()));
        let read = RunState {
            unresumable: None,
            final_status: None,
            ..state
        };
        assert_eq!(read, RunState::default());
    }

    #[test]
    fn null_counts_as_absent() {
        let state = run_state(&json!({ "finalStatus": null, "unresumable": null, "memory": null }));
        assert_eq!(state, RunState::default());
    }
}
