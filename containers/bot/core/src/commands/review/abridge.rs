//! `review.abridge`: abridges a finished review's reading diff.

use std::time::Duration;

use ars_auth::Denied;
use ars_codehost::review::{AbridgeRefused, Abridgement};
use ars_commands::{Capability, Definition, Field, Kind, Settle, names};
use ars_types::{ModelRef, RepoSlug, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{
    call::Call, command::Command, error::CommandError, settle::Settled, untrusted::Untrusted,
};
use crate::{
    abridge::{self, AbridgeError, AbridgeRequest},
    gates::authorize_name,
    history::is_provisional,
    queries::Found,
};

/// The polls for the second reply.
const SETTLE: Settle = Settle {
    every: Duration::from_secs(3),
    within: Duration::from_secs(5 * 60),
};
/// The state of a job in progress.
const RUNNING: &str = "running";

/// The command.
pub(in super::super) struct Abridge;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    id: RunId,
    model: Option<ModelRef>,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    wait: bool,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AbridgedView {
    /// The run.
    #[schemars(with = "String")]
    id: RunId,
    /// `absent`, `running`, `failed` or `done`.
    state: String,
    /// Start of a running job, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    /// Why the job failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// When the job failed, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    /// Whether the artifact was stored before this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    reused: Option<bool>,
    /// The artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<ArtifactView>,
}

/// An abridged diff.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ArtifactView {
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Summary, fenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Untrusted>,
    /// The range that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// Bytes of the host's diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_bytes: Option<u64>,
    /// Characters of the diff that the model read.
    diff_chars: u64,
    /// Whether the diff was cut.
    truncated: bool,
    /// Tokens of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    meat_tokens: Option<TokensView>,
}

/// Tokens of a call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TokensView {
    /// Input tokens.
    input: u64,
    /// Output tokens.
    output: u64,
}

impl Command for Abridge {
    const DEFINITION: Definition = Definition::write(
        "review.abridge",
        "review:write",
        "Abridges the diff of a finished review, for people who read it.",
    )
    .with_args(&[Field::required(
        "id",
        Kind::Name(&names::RUN),
        "the run of the review",
    )])
    .with_options(&[
        Field::optional(
            "model",
            Kind::Name(&names::MODEL),
            "the model, in place of the configured one",
        ),
        Field::optional(
            "force",
            Kind::Boolean,
            "abridges again although a result is stored",
        ),
        Field::optional(
            "wait",
            Kind::Boolean,
            "answers with the result, not with the state",
        ),
    ])
    .needing(Capability::Abridger)
    .settling(SETTLE);
    type Input = Input;
    type Output = AbridgedView;

    async fn run(call: Call<'_>, input: Input) -> Result<AbridgedView, CommandError> {
        let Input {
            id,
            model,
            force,
            wait,
        } = input;
        let id = call.run_id(id).await?;
        let found = call.queries().get(&call.reader(), &id).await?;
        if let Found::Live(_) = found {
            return Err(refused(AbridgeError::Refused(AbridgeRefused::Unfinished)));
        }
        let record = call.context.store().get(&id).await;
        let record = record.map_err(|error| CommandError::store("the run history", &error))?;
        let record = record
            .filter(|record| !is_provisional(record))
            .ok_or_else(|| {
                CommandError::conflict("the record of the run is not written yet; try again")
            })?;
        let request = AbridgeRequest {
            model,
            is_forced: force,
            waits: wait,
        };
        let may_use = |repository: &RepoSlug| {
            let settings = call.context.settings();
            authorize_name(&call.caller.actor, settings, repository.as_str()).is_ok()
        };
        let answer = abridge::answer(call.context, &record, request, may_use).await;
        view(&id, &answer.map_err(refused)?)
    }

    fn text(output: &AbridgedView) -> String {
        let id = &output.id;
        match (output.state.as_str(), &output.artifact, &output.reason) {
            ("done", Some(artifact), _) => artifact
                .summary
                .as_ref()
                .map_or_else(String::new, |summary| summary.plain().to_owned()),
            ("failed", _, Some(reason)) => format!("`{id}` was not abridged: {reason}"),
            (RUNNING, ..) => format!("`{id}` is being abridged"),
            _ => format!("`{id}` is not abridged"),
        }
    }

    async fn settled(call: Call<'_>, output: &Value) -> Result<Settled, CommandError> {
        // The first reply was the result.
        if output["state"] != RUNNING {
            return Ok(Settled::Silent);
        }
        let id: RunId =
            serde_json::from_value(output["id"].clone()).map_err(|e| CommandError::internal(&e))?;
        match abridge::state(call.context, &id) {
            Abridgement::Running { .. } => Ok(Settled::Pending),
            ended => view(&id, &ended).map(|view| Settled::Reply(Self::text(&view))),
        }
    }
}

fn view(id: &RunId, abridgement: &Abridgement) -> Result<AbridgedView, CommandError> {
    serde_json::from_value(abridgement.to_json(id.as_str()))
        .map_err(|error| CommandError::internal(&error))
}

fn refused(error: AbridgeError) -> CommandError {
    match error {
        AbridgeError::Refused(AbridgeRefused::NotAReview) => {
            CommandError::conflict("the run is no review")
        }
        AbridgeError::Refused(AbridgeRefused::Unfinished) => {
            CommandError::conflict("the review has not finished")
        }
        AbridgeError::Refused(AbridgeRefused::NothingToAbridge) => CommandError::not_found(
            "the run reviewed no pull request, so there is no diff to abridge",
        ),
        AbridgeError::Forbidden => CommandError::denied(Denied::MissingGrant),
        AbridgeError::NoModel => {
            CommandError::unavailable("no model is configured that can abridge")
        }
        AbridgeError::NoCodeHost => CommandError::unavailable("no code host is configured"),
    }
}
