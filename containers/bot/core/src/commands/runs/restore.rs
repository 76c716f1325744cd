//! `runs.restore`: a finished run's working tree for its thread.

use ars_commands::Definition;
use ars_types::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    view::ID,
};

/// The command.
pub(in super::super) struct Restore;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    id: RunId,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Restored {
    /// The run.
    #[schemars(with = "String")]
    id: RunId,
    /// Its last checkpoint.
    checkpoint: String,
    /// The commit of the checkpoint.
    commit: String,
}

impl Command for Restore {
    const DEFINITION: Definition = Definition::write(
        "runs.restore",
        "runs:write",
        "Gives the thread of a finished run the working tree that the run left.",
    )
    .with_args(&[ID]);
    type Input = Input;
    type Output = Restored;

    async fn run(call: Call<'_>, input: Input) -> Result<Restored, CommandError> {
        let id = call.run_id(input.id).await?;
        let restored = call.queries().restore_as(&call.reader(), &id).await?;
        Ok(Restored {
            id,
            checkpoint: restored.git_ref,
            commit: restored.commit,
        })
    }

    fn text(restored: &Restored) -> String {
        format!(
            "`{}`: the working tree of its thread is that of `{}` again",
            restored.id, restored.checkpoint
        )
    }
}
