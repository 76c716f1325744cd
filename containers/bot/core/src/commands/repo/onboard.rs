//! `repo.onboard`: keeps a repository warm from now on.

use std::collections::BTreeMap;

use ars_commands::{Capability, Definition, Field, Kind, names};
use ars_resident::{
    detect::{Detection, Toolchain, assumed},
    lifecycle::StateWord,
    names::{CommandName, TableCommand},
    wire::{Evicted, OnboardRequest},
};
use ars_types::{RepoSlug, StrictRefName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    super::{call::Call, command::Command, error::CommandError, settle::Settled},
    detection::inspect,
    provisioning,
    subject::{BUILD, INSTALL, MANAGE, SLUG, TEST, failed, managed, residents, table_command},
};

/// The default branch, unless the caller names another one.
const DEFAULT_REF: &str = "main";

/// The command.
pub(in super::super) struct Onboard;

/// The input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Input {
    slug: RepoSlug,
    #[serde(rename = "ref")]
    git_ref: StrictRefName,
    test: Option<String>,
    build: Option<String>,
    install: Option<String>,
    #[serde(default)]
    evict_coldest: bool,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Onboarded {
    /// The repository.
    #[schemars(with = "String")]
    slug: RepoSlug,
    /// Its default branch.
    #[schemars(with = "String")]
    default_ref: StrictRefName,
    /// The command table.
    #[schemars(with = "BTreeMap<String, String>")]
    commands: BTreeMap<CommandName, TableCommand>,
    /// The detected toolchain.
    #[schemars(with = "Option<String>")]
    toolchain: Option<Toolchain>,
    /// How the table was detected.
    detection: DetectionView,
    /// The commands that the caller named.
    explicit: Vec<String>,
    /// `onboarding`.
    #[schemars(with = "String")]
    state: StateWord,
    /// The resident that made room, with the report of its removal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    evicted: Option<Evicted>,
    /// What the administrator should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// The result of the detection.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum DetectionView {
    /// Remarks about the detected table.
    #[serde(untagged)]
    Notes {
        /// Remarks.
        notes: Vec<String>,
    },
    /// The repository could not be inspected.
    #[serde(untagged)]
    Unavailable {
        /// Reason.
        unavailable: String,
    },
}

/// The commands that the caller named.
type Named = [(&'static str, Option<TableCommand>); 3];

impl Command for Onboard {
    const DEFINITION: Definition = Definition {
        settle: Some(provisioning::SETTLE),
        ..Definition::write(
            "repo.onboard",
            MANAGE,
            "Keeps a repository warm: a billable environment of its own.",
        )
        .with_args(&[SLUG])
        .with_options(&[
            Field::optional("ref", Kind::Name(&names::BRANCH), "its default branch")
                .or(DEFAULT_REF),
            TEST,
            BUILD,
            INSTALL,
            Field::optional(
                "evictColdest",
                Kind::Boolean,
                "removes the least recently used resident if there is no room",
            ),
        ])
        .needing(Capability::Residents)
        .leaving_run()
    };
    type Input = Input;
    type Output = Onboarded;

    async fn run(call: Call<'_>, input: Input) -> Result<Onboarded, CommandError> {
        let Input {
            slug,
            git_ref,
            test,
            build,
            install,
            evict_coldest,
        } = input;
        let (residents, resource) = (residents(&call)?, managed(&call, &slug)?);
        let parsed =
            |name, text: Option<String>| text.map(|text| table_command(name, text)).transpose();
        let named: Named = [
            ("install", parsed("install", install)?),
            ("build", parsed("build", build)?),
            ("test", parsed("test", test)?),
        ];
        let inspected = inspect(
            call.context.deps().capabilities.code_host.as_deref(),
            &slug,
            &git_ref,
        )
        .await;
        let (commands, is_assumed) = table(&inspected, &named);
        let request = OnboardRequest {
            resource,
            commands: commands.clone(),
            default_ref: git_ref.clone(),
            effects: None,
            disk_budget_mb: None,
            provisioning_timeout_ms: None,
            worktree_ttl_days: None,
            evict_coldest,
        };
        let answer = residents
            .onboard(&request, &CancellationToken::new())
            .await
            .map_err(failed)?;
        let (toolchain, detection) = match inspected {
            Ok(Detection {
                toolchain, notes, ..
            }) => (toolchain, DetectionView::Notes { notes }),
            Err(reason) => (
                None,
                DetectionView::Unavailable {
                    unavailable: reason,
                },
            ),
        };
        let assumption = is_assumed.then(|| {
            "the repository could not be inspected, so commands that were not named are those of npm"
                .to_owned()
        });
        let warnings: Vec<String> = answer.warning.into_iter().chain(assumption).collect();
        Ok(Onboarded {
            slug,
            default_ref: git_ref,
            commands,
            toolchain,
            detection,
            explicit: explicit(&named),
            state: answer.state,
            evicted: answer.evicted,
            warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
        })
    }

    fn text(output: &Onboarded) -> String {
        let mut lines = vec![format!(
            "`{}` is being prepared from {}.",
            output.slug, output.default_ref
        )];
        lines.extend(
            output
                .commands
                .iter()
                .map(|(name, command)| format!("- {name}: `{command}`")),
        );
        let notes = match &output.detection {
            DetectionView::Notes { notes } => notes.clone(),
            DetectionView::Unavailable { unavailable } => {
                vec![format!("not inspected: {unavailable}")]
            }
        };
        lines.extend(notes);
        lines.extend(
            output
                .evicted
                .as_ref()
                .map(|evicted| format!("Removed {}.", evicted.report.resource.slug())),
        );
        lines.extend(
            output
                .warning
                .as_ref()
                .map(|warning| format!("Warning: {warning}")),
        );
        lines.join("\n")
    }

    async fn settled(call: Call<'_>, output: &Value) -> Result<Settled, CommandError> {
        provisioning::settled(call, output).await
    }

    fn late(output: &Value) -> Option<String> {
        provisioning::late(output)
    }
}

/// Returns the names of the commands that the caller named.
fn explicit(named: &Named) -> Vec<String> {
    named
        .iter()
        .filter(|(_, command)| command.is_some())
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

/// Returns the command table, and whether a command in it is an assumption.
/// A caller that names both `test` and `build` of a repository that cannot be inspected knows its table.
fn table(
    inspected: &Result<Detection, String>,
    named: &Named,
) -> (BTreeMap<CommandName, TableCommand>, bool) {
    let is_whole = named[1].1.is_some() && named[2].1.is_some();
    let (mut commands, is_assumed) = match inspected {
        Ok(detection) => (detection.table(), false),
        Err(_) if is_whole => (BTreeMap::new(), false),
        Err(_) => (assumed().table(), true),
    };
    for (name, command) in named {
        // The names are constants that follow the rule.
        if let (Some(command), Ok(name)) = (command, CommandName::parse(*name)) {
            commands.insert(name, command.clone());
        }
    }
    (commands, is_assumed)
}
