//! `repo.list`: every repository with a resident.

use ars_commands::{Capability, Definition};
use ars_resident::wire::{EngineView, Live, RegistryRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        call::Call,
        command::{Command, NoInput},
        error::CommandError,
    },
    subject::{failed, residents},
};
use crate::time::iso;

/// Digits of a commit in a text.
const SHORT_SHA: usize = 7;

/// The command.
pub(in super::super) struct List;

/// The output: the list of the residents.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Listed {
    /// Most residents.
    cap: u32,
    /// Most residents without limits that a test lowered.
    cap_default: u32,
    /// Limits that a test lowered.
    #[serde(skip_serializing_if = "Option::is_none")]
    test_overrides: Option<Value>,
    /// Number of residents.
    count: u32,
    /// Operations in flight, or null if a resident did not answer.
    in_flight: Option<u32>,
    /// Number of residents that did not answer.
    in_flight_unknown: u32,
    /// Record and `live` view of each.
    #[schemars(with = "Vec<Map<String, Value>>")]
    residents: Vec<RegistryRow>,
}

impl Command for List {
    const DEFINITION: Definition = Definition::read(
        "repo.list",
        "repo:read",
        "Lists the repositories that are kept warm.",
    )
    .needing(Capability::Residents);
    type Input = NoInput;
    type Output = Listed;

    async fn run(call: Call<'_>, _: NoInput) -> Result<Listed, CommandError> {
        let answer = residents(&call)?
            .list(&CancellationToken::new())
            .await
            .map_err(failed)?;
        Ok(Listed {
            cap: answer.cap,
            cap_default: answer.cap_default,
            test_overrides: answer.test_overrides,
            count: answer.count,
            in_flight: answer.in_flight,
            in_flight_unknown: answer.in_flight_unknown,
            residents: answer.residents,
        })
    }

    fn text(output: &Listed) -> String {
        let mut lines = vec![format!("{} of {} residents", output.count, output.cap)];
        lines.extend(output.residents.iter().map(line));
        lines.join("\n")
    }
}

fn line(row: &RegistryRow) -> String {
    let slug = row.record.resource.slug();
    match &row.live {
        Live::View(view) => format!("- {slug}: {}", state(view)),
        Live::Unreachable(unreachable) => format!("- {slug}: not reachable: {}", unreachable.error),
    }
}

fn state(view: &EngineView) -> String {
    let mut text = view.state.as_str().to_owned();
    if let Some(reason) = &view.reason {
        text.push_str(&format!(" ({reason})"));
    }
    text.push_str(&format!(", {}", view.default_ref));
    if let Some(sha) = &view.sha {
        let short: String = sha.as_str().chars().take(SHORT_SHA).collect();
        text.push_str(&format!("@{short}"));
    }
    if let Some(at) = view.last_refresh_at {
        text.push_str(&format!(", refreshed {}", iso(at)));
    }
    if let Some(disk) = view.disk.as_ref().filter(|disk| disk.total_kib > 0) {
        text.push_str(&format!(
            ", disk {} %",
            disk.used_kib.saturating_mul(100) / disk.total_kib
        ));
    }
    text
}
