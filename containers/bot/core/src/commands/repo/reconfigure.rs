//! `repo.reconfigure`: changes a resident's default branch or commands.

use std::collections::BTreeMap;

use ars_commands::{Capability, Definition, Field, FieldRule, Kind, names};
use ars_resident::{
    names::{CommandName, Resource, TableCommand},
    refusal::{Refusal, Token},
    wire::ReconfigureRequest,
};
use ars_types::{RepoSlug, StrictRefName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    super::{call::Call, command::Command, error::CommandError},
    subject::{BUILD, INSTALL, MANAGE, SLUG, TEST, failed, managed, residents, table_command},
};

/// Held from the read of a command table to its replacement.
/// Two calls of this process then do not undo each other's change.
static REPLACING: Mutex<()> = Mutex::const_new(());

/// The command.
pub(in super::super) struct Reconfigure;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    slug: RepoSlug,
    #[serde(rename = "ref")]
    git_ref: Option<StrictRefName>,
    test: Option<String>,
    build: Option<String>,
    install: Option<String>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Reconfigured {
    /// The repository.
    #[schemars(with = "String")]
    slug: RepoSlug,
    /// The new values.
    changed: Changed,
}

/// The new values.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Changed {
    /// Default branch.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    git_ref: Option<StrictRefName>,
    /// The whole command table.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    commands: Option<BTreeMap<CommandName, TableCommand>>,
}

impl Command for Reconfigure {
    const DEFINITION: Definition = Definition::write(
        "repo.reconfigure",
        MANAGE,
        "Changes the default branch or commands of a resident.",
    )
    .with_args(&[SLUG])
    .with_options(&[
        Field::optional("ref", Kind::Name(&names::BRANCH), "its default branch"),
        TEST,
        BUILD,
        INSTALL,
    ])
    .with_rules(&[FieldRule::AnyOf(&["ref", "test", "build", "install"])])
    .needing(Capability::Residents)
    .leaving_run();
    type Input = Input;
    type Output = Reconfigured;

    async fn run(call: Call<'_>, input: Input) -> Result<Reconfigured, CommandError> {
        let Input {
            slug,
            git_ref,
            test,
            build,
            install,
        } = input;
        let (residents, resource) = (residents(&call)?, managed(&call, &slug)?);
        let mut replaced = BTreeMap::new();
        for (name, text) in [("install", install), ("build", build), ("test", test)] {
            // The names are constants that follow the rule.
            if let (Some(text), Ok(key)) = (text, CommandName::parse(name)) {
                replaced.insert(key, table_command(name, text)?);
            }
        }
        if git_ref.is_none() && replaced.is_empty() {
            return Err(CommandError::invalid(
                "one of ref, test, build and install is required",
            ));
        }
        let _replacing = REPLACING.lock().await;
        let commands = match replaced.is_empty() {
            true => None,
            false => {
                let mut table = current(&call, &resource).await?;
                table.extend(replaced);
                Some(table)
            }
        };
        let request = ReconfigureRequest {
            resource,
            commands: commands.clone(),
            effects: None,
            default_ref: git_ref.clone(),
            disk_budget_mb: None,
            provisioning_timeout_ms: None,
            worktree_ttl_days: None,
        };
        residents
            .reconfigure(&request, &CancellationToken::new())
            .await
            .map_err(failed)?;
        Ok(Reconfigured {
            slug,
            changed: Changed { git_ref, commands },
        })
    }

    fn text(output: &Reconfigured) -> String {
        let mut lines = vec![format!("`{}` is changed:", output.slug)];
        lines.extend(
            output
                .changed
                .git_ref
                .as_ref()
                .map(|name| format!("- ref: {name}")),
        );
        let commands = output.changed.commands.iter().flatten();
        lines.extend(commands.map(|(name, command)| format!("- {name}: `{command}`")));
        lines.join("\n")
    }
}

/// Returns the command table in force. A new one replaces it whole.
async fn current(
    call: &Call<'_>,
    resource: &Resource,
) -> Result<BTreeMap<CommandName, TableCommand>, CommandError> {
    let listed = residents(call)?
        .list(&CancellationToken::new())
        .await
        .map_err(failed)?;
    let row = listed
        .residents
        .into_iter()
        .find(|row| row.record.resource == *resource);
    let unknown =
        || failed(Refusal::new(Token::NotOnboarded, &format!("{resource} has no resident")).into());
    Ok(row.ok_or_else(unknown)?.record.commands)
}
