//! Schedule bodies.
//!
//! Clients use these types. The store reads requests as JSON, because each field has a separate
//! error.

use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};

use crate::millis::rounded;

/// Request body for `/schedules/record`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRequest {
    /// The firing to store.
    pub firing: Firing,
}

/// A schedule's firing and outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Firing {
    /// Name of the schedule.
    pub schedule: String,
    /// Time at which it fired.
    #[serde(deserialize_with = "rounded")]
    pub fired_at: UnixMillis,
    /// The run that it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// How the firing ended.
    pub outcome: Outcome,
    /// A line for humans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A firing's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The run gave an answer.
    Completed,
    /// The run failed, or the reply could not be delivered.
    Failed,
    /// The run was stopped softly.
    StoppedSoft,
    /// The run was stopped at once.
    StoppedHard,
    /// Ingress accepted the request without starting a run.
    #[serde(rename = "no-run")]
    NoRun,
    /// Ingress rejected the request.
    #[serde(rename = "ingress-error")]
    IngressError,
    /// There is no token, so no request was sent.
    Misconfigured,
}

/// Response from `/schedules/record`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordResponse {
    /// Always true in this response.
    pub ok: bool,
    /// Number of stored firings for this schedule.
    pub retained: u64,
}

/// Request body for `/schedules/latest`, without fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatestRequest {}

/// Response from `/schedules/latest`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatestResponse {
    /// Each schedule's newest firing, by name.
    pub firings: Vec<Firing>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outcomes_have_the_specified_names() {
        use Outcome::{
            Completed, Failed, IngressError, Misconfigured, NoRun, StoppedHard, StoppedSoft,
        };
        for (outcome, word) in [
            (Completed, "completed"),
            (Failed, "failed"),
            (StoppedSoft, "stopped_soft"),
            (StoppedHard, "stopped_hard"),
            (NoRun, "no-run"),
            (IngressError, "ingress-error"),
            (Misconfigured, "misconfigured"),
        ] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), word);
            assert_eq!(
                serde_json::from_value::<Outcome>(json!(word)).unwrap(),
                outcome
            );
        }
        assert!(serde_json::from_value::<Outcome>(json!("interrupted")).is_err());
    }

    #[test]
    fn absent_firing_fields_are_omitted() {
        let firing = Firing {
            schedule: "nightly".into(),
            fired_at: 1_700_000_000_000,
            run_id: None,
            outcome: Outcome::NoRun,
            detail: None,
        };
        let travelling = r#"{"schedule":"nightly","firedAt":1700000000000,"outcome":"no-run"}"#;
        assert_eq!(serde_json::to_string(&firing).unwrap(), travelling);
        assert_eq!(serde_json::from_str::<Firing>(travelling).unwrap(), firing);
        assert_eq!(serde_json::to_string(&LatestRequest {}).unwrap(), "{}");
    }
}
