//! `repo.offboard`: removes a resident.

use ars_bot_ports::Offboarded as Answer;
use ars_commands::Definition;
use ars_resident::wire::OffboardRequest;
use ars_types::RepoSlug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    super::{call::Call, command::Command, error::CommandError},
    subject::{Discard, discarding, failed, managed, members, residents},
};

/// The command.
pub(in super::super) struct Offboard;

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Offboarded {
    /// The repository.
    #[schemars(with = "String")]
    slug: RepoSlug,
    /// Nothing was removed.
    dry_run: bool,
    /// The plan, or the report.
    #[serde(flatten)]
    #[schemars(skip)]
    answer: Map<String, Value>,
}

impl Command for Offboard {
    const DEFINITION: Definition = discarding(
        "repo.offboard",
        "Removes a resident with its trees and snapshots.",
    );
    type Input = Discard;
    type Output = Offboarded;

    fn permit(call: Call<'_>, input: &Discard) -> Result<(), CommandError> {
        managed(&call, &input.slug).map(drop)
    }

    async fn run(call: Call<'_>, input: Discard) -> Result<Offboarded, CommandError> {
        let Discard { slug, dry_run } = input;
        let request = OffboardRequest {
            resource: managed(&call, &slug)?,
            dry_run,
        };
        let answer = residents(&call)?
            .offboard(&request, &CancellationToken::new())
            .await
            .map_err(failed)?;
        let mut answer = match answer {
            Answer::Plan(plan) => members(&plan)?,
            Answer::Report(report) => members(&report)?,
        };
        answer.remove("dryRun");
        Ok(Offboarded {
            slug,
            dry_run,
            answer,
        })
    }

    fn text(output: &Offboarded) -> String {
        let (head, parts) = match output.answer.get("wouldRemove") {
            Some(Value::Object(parts)) => (format!("`{}` would be removed:", output.slug), parts),
            Some(_) | None => (format!("`{}` is removed:", output.slug), &output.answer),
        };
        let shown = parts
            .iter()
            .filter(|(name, value)| *name != "resource" && !value.is_array());
        let mut lines: Vec<String> = std::iter::once(head)
            .chain(shown.map(|(name, value)| {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                format!("- {name}: {text}")
            }))
            .collect();
        let errors = output
            .answer
            .get("errors")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        lines.extend(
            errors
                .filter_map(Value::as_str)
                .map(|error| format!("- failed: {error}")),
        );
        lines.join("\n")
    }
}
