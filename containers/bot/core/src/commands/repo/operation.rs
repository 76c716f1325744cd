//! Operations without a model: run a resident's table command on a branch.

use ars_auth::Denied;
use ars_bot_ports::OpReply;
use ars_commands::{Capability, Definition, Field, Kind, Target, names};
use ars_resident::wire::{OpName, OpRequest};
use ars_types::{RepoSlug, StrictRefName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    super::{call::Call, error::CommandError, untrusted::Untrusted},
    subject::{SLUG, failed, residents, resource},
};
use crate::gates::authorize_name;

/// The agent with the permission of operations.
const AGENT: &str = "coding";
/// The action.
const EXEC: &str = "repo:exec";

/// The arguments.
const ARGS: &[Field] = &[
    SLUG,
    Field::optional(
        "ref",
        Kind::Name(&names::BRANCH),
        "a branch; the default one if absent",
    ),
];

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    slug: RepoSlug,
    #[serde(rename = "ref")]
    git_ref: Option<StrictRefName>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Ended {
    /// `test` or `build`.
    #[schemars(with = "String")]
    op: OpName,
    /// The repository.
    #[schemars(with = "String")]
    repo: RepoSlug,
    /// The branch.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    git_ref: Option<StrictRefName>,
    /// The command succeeded.
    ok: bool,
    /// One line.
    summary: String,
    /// Output and error output of the command, fenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Untrusted>,
}

/// Returns the definition of an operation.
pub(super) const fn definition(id: &'static str, about: &'static str) -> Definition {
    Definition::write(id, EXEC, about)
        .with_args(ARGS)
        .about_target(Target::Agent(AGENT))
        .needing(Capability::Residents)
        .leaving_run()
}

/// Runs the command. A failing command is a result.
pub(super) async fn run(call: Call<'_>, op: OpName, input: Input) -> Result<Ended, CommandError> {
    let Input { slug, git_ref } = input;
    authorize_name(&call.caller.actor, call.context.settings(), slug.as_str())
        .map_err(|_| CommandError::denied(Denied::MissingGrant))?;
    let request = OpRequest {
        resource: resource(&slug)?,
        op,
        git_ref,
    };
    let reply = residents(&call)?
        .op(&request, &CancellationToken::new())
        .await
        .map_err(failed)?;
    let OpReply::Ended(answer) = reply else {
        return Err(CommandError::internal(
            &"the operation answered stored facts",
        ));
    };
    let streams = [answer.stdout, answer.stderr];
    let output = streams
        .iter()
        .map(|text| text.trim_end())
        .filter(|text| !text.is_empty());
    let output = output.collect::<Vec<_>>().join("\n");
    Ok(Ended {
        op,
        repo: slug,
        git_ref: Some(answer.git_ref),
        ok: answer.ok,
        summary: answer.summary,
        output: (!output.is_empty()).then_some(Untrusted(output)),
    })
}

/// Returns the output for people. A channel shows its first line above a long output.
pub(super) fn text(ended: &Ended) -> String {
    let mark = if ended.ok { "✅" } else { "❌" };
    let summary = format!("{mark} `{}`: {}", ended.repo, ended.summary);
    match &ended.output {
        Some(output) => format!("{summary}\n\n{}", output.plain()),
        None => summary,
    }
}
