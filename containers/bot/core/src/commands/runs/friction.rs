//! `runs.friction`: a run's diagnosis.

use ars_commands::{Definition, Surfaces};
use ars_types::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    super::{call::Call, command::Command, error::CommandError, fence},
    view::ID,
};
use crate::queries;

/// The command.
pub(in super::super) struct Friction;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    id: RunId,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Diagnosed {
    /// The run.
    #[schemars(with = "String")]
    id: RunId,
    /// Whether the run has finished. The diagnosis of a live run is preliminary.
    finished: bool,
    /// The diagnosis. Summaries of findings are fenced.
    diagnosis: Value,
}

impl Command for Friction {
    const DEFINITION: Definition = Definition::read(
        "runs.friction",
        "runs:read",
        "Shows the reasons why one run was slow.",
    )
    .with_args(&[ID])
    .on(Surfaces::NOT_CHAT);
    type Input = Input;
    type Output = Diagnosed;

    async fn run(call: Call<'_>, input: Input) -> Result<Diagnosed, CommandError> {
        let id = call.run_id(input.id).await?;
        let found = call.queries().diagnosis(&call.reader(), &id).await?;
        let queries::Friction {
            id,
            finished,
            diagnosis,
        } = found;
        Ok(Diagnosed {
            id,
            finished,
            diagnosis: fence::diagnosis(diagnosis),
        })
    }

    fn text(output: &Diagnosed) -> String {
        let verdict = output
            .diagnosis
            .get("verdict")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let preliminary = if output.finished { "" } else { " (so far)" };
        format!("`{}`{preliminary}: {verdict}", output.id)
    }
}
