//! `repo.rebuild`: discards a resident's snapshots and provisions it anew.

use ars_commands::Definition;
use ars_resident::wire::{RebuildPlan, RebuildRequest};
use ars_types::RepoSlug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    super::{call::Call, command::Command, error::CommandError, settle::Settled},
    provisioning,
    subject::{Discard, discarding, failed, managed, residents},
};

/// The command.
pub(in super::super) struct Rebuild;

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Rebuilt {
    /// The repository.
    #[schemars(with = "String")]
    slug: RepoSlug,
    /// The plan, with `dryRun`, and of a real rebuild the number of deleted objects and the state.
    #[serde(flatten)]
    #[schemars(with = "Map<String, Value>")]
    plan: RebuildPlan,
}

impl Command for Rebuild {
    const DEFINITION: Definition = Definition {
        settle: Some(provisioning::SETTLE),
        ..discarding(
            "repo.rebuild",
            "Discards the snapshots of a resident and prepares it anew.",
        )
    };
    type Input = Discard;
    type Output = Rebuilt;

    fn permit(call: Call<'_>, input: &Discard) -> Result<(), CommandError> {
        managed(&call, &input.slug).map(drop)
    }

    async fn run(call: Call<'_>, input: Discard) -> Result<Rebuilt, CommandError> {
        let Discard { slug, dry_run } = input;
        let request = RebuildRequest {
            resource: managed(&call, &slug)?,
            dry_run,
        };
        let plan = residents(&call)?
            .rebuild(&request, &CancellationToken::new())
            .await
            .map_err(failed)?;
        Ok(Rebuilt { slug, plan })
    }

    fn text(output: &Rebuilt) -> String {
        let plan = &output.plan;
        let reason = plan
            .from
            .reason
            .as_ref()
            .map(|reason| format!(" ({reason})"))
            .unwrap_or_default();
        let head = match plan.dry_run {
            true => {
                format!(
                    "`{}` would be prepared anew from {}:",
                    output.slug, plan.reprovision.default_ref
                )
            }
            false => {
                format!(
                    "`{}` is being prepared anew from {}:",
                    output.slug, plan.reprovision.default_ref
                )
            }
        };
        [
            head,
            format!("- state before: {}{reason}", plan.from.state.as_str()),
            format!(
                "- discarded backup objects: {}",
                plan.discards.backup_objects
            ),
            format!("- kept thread bindings: {}", plan.keeps.thread_bindings),
            format!(
                "- kept checkpoints of threads, if the container still has its mirror: {}",
                plan.keeps.checkpoints
            ),
        ]
        .join("\n")
    }

    async fn settled(call: Call<'_>, output: &Value) -> Result<Settled, CommandError> {
        provisioning::settled(call, output).await
    }

    fn late(output: &Value) -> Option<String> {
        provisioning::late(output)
    }
}
