//! `status.show`: the process's build and load.

use ars_commands::Definition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    call::Call,
    command::{Command, NoInput},
    error::CommandError,
};
use crate::time::iso;

/// The commit of a build without a stamp.
const UNKNOWN: &str = "unknown";

/// The command.
pub(in super::super) struct Show;

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Status {
    /// Release.
    version: String,
    /// Commit, or `unknown`.
    commit: String,
    /// ISO time of the build.
    #[serde(skip_serializing_if = "Option::is_none")]
    built_at: Option<String>,
    /// ISO time of the process's start.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// Requests in flight, and pending work of ended runs.
    in_flight: u64,
    /// Whether the process shuts down.
    draining: bool,
}

impl Command for Show {
    const DEFINITION: Definition = Definition::read(
        "status.show",
        "status:read",
        "Shows the version, the start time and the runs in flight.",
    );
    type Input = NoInput;
    type Output = Status;

    async fn run(call: Call<'_>, _: NoInput) -> Result<Status, CommandError> {
        let build = call.context.deps().capabilities.commands.build.clone();
        let (commit, built_at) =
            build.map_or((None, None), |build| (Some(build.commit), build.built_at));
        let in_flight = call.context.in_flight();
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.unwrap_or_else(|| UNKNOWN.to_owned()),
            built_at,
            started_at: Some(iso(call.context.started_at())),
            in_flight: in_flight.current(),
            draining: in_flight.drain_started_at().is_some(),
        })
    }

    fn text(status: &Status) -> String {
        let built = status
            .built_at
            .as_ref()
            .map_or_else(String::new, |at| format!(", built {at}"));
        let started = status
            .started_at
            .as_ref()
            .map_or_else(String::new, |at| format!("\nstarted {at}"));
        let draining = if status.draining {
            ", shutting down"
        } else {
            ""
        };
        format!(
            "version {} ({}){built}{started}\nin flight: {}{draining}",
            status.version, status.commit, status.in_flight
        )
    }
}
