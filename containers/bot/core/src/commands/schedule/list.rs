//! `schedule.list`: the schedules, with the next firing and the last result.

use std::collections::BTreeMap;

use ars_commands::{Capability, Definition};
use ars_schedules::{Action, Cron, Schedule};
use ars_types::UnixMillis;
use ars_wire::schedules::{Firing, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{
    call::Call,
    command::{Command, NoInput},
    error::CommandError,
};
use crate::{context::is_on, time::iso};

/// The reason for absent firings.
const UNAVAILABLE: &str = "the record of firings is not available right now";

/// The command.
pub(in super::super) struct List;

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Listed {
    /// The schedules.
    schedules: Vec<ScheduleView>,
    /// Why the last firings are absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    firings_unavailable: Option<String>,
}

/// A schedule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ScheduleView {
    /// Name.
    name: String,
    /// The Worker that fires it, or `bot` for the bot itself.
    worker: String,
    /// `healthz`, `watchdog` or `run`.
    action: String,
    /// Five fields, in UTC.
    cron: String,
    /// Description.
    description: String,
    /// The text that a run gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The identity of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    /// The next firing, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_fire_at: Option<UnixMillis>,
    /// The last firing.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Last>,
}

/// A firing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Last {
    /// When it fired, in milliseconds since the Unix epoch.
    fired_at: UnixMillis,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// The outcome.
    #[schemars(with = "String")]
    outcome: Outcome,
    /// A line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl Command for List {
    const DEFINITION: Definition = Definition::read(
        "schedule.list",
        "schedule:read",
        "Lists the schedules and their last firings.",
    )
    .needing(Capability::Schedules);
    type Input = NoInput;
    type Output = Listed;

    async fn run(call: Call<'_>, _: NoInput) -> Result<Listed, CommandError> {
        let Some(source) = &call.context.deps().capabilities.commands.schedules else {
            return Err(CommandError::unavailable(
                "schedules are off in this installation",
            ));
        };
        let firings = source.latest().await;
        let firings_unavailable = firings.is_err().then(|| UNAVAILABLE.to_owned());
        let firings = firings.unwrap_or_else(|error| {
            tracing::error!(error = %error, "firings of schedules not listed");
            Vec::new()
        });
        let mut last: BTreeMap<String, Firing> = firings
            .into_iter()
            .map(|firing| (firing.schedule.clone(), firing))
            .collect();
        let now = call.context.clock().now();
        let listed = source.schedules().iter();
        let listed = listed.filter(|one| !one.internal && is_on(call.context.deps(), one));
        let schedules = listed
            .map(|schedule| view(schedule, last.remove(schedule.name), now))
            .collect();
        Ok(Listed {
            schedules,
            firings_unavailable,
        })
    }

    fn text(output: &Listed) -> String {
        let mut lines: Vec<String> = output.schedules.iter().map(line).collect();
        if lines.is_empty() {
            lines.push("no schedules".to_owned());
        }
        lines.extend(output.firings_unavailable.clone());
        lines.join("\n")
    }
}

fn view(schedule: &Schedule, last: Option<Firing>, now: UnixMillis) -> ScheduleView {
    let (command, identity) = match schedule.action {
        Action::Run { command, identity } => (Some(command), Some(identity)),
        Action::Healthz | Action::Watchdog => (None, None),
    };
    ScheduleView {
        name: schedule.name.to_owned(),
        worker: schedule.worker.to_owned(),
        action: schedule.action.as_str().to_owned(),
        cron: schedule.cron.to_owned(),
        description: schedule.description.to_owned(),
        command: command.map(str::to_owned),
        identity: identity.map(str::to_owned),
        next_fire_at: Cron::parse(schedule.cron)
            .ok()
            .and_then(|cron| cron.next_after(now)),
        last: last.map(
            |Firing {
                 schedule: _,
                 fired_at,
                 run_id,
                 outcome,
                 detail,
             }| Last {
                fired_at,
                run_id,
                outcome,
                detail,
            },
        ),
    }
}

fn line(schedule: &ScheduleView) -> String {
    let next = schedule
        .next_fire_at
        .map_or_else(String::new, |at| format!(", next {}", iso(at)));
    let last = schedule.last.as_ref().map_or_else(String::new, |last| {
        let outcome = serde_json::to_value(last.outcome).unwrap_or_default();
        format!(
            ", last {} {}",
            iso(last.fired_at),
            outcome.as_str().unwrap_or_default()
        )
    });
    format!(
        "- {} (`{}`): {}{next}{last}",
        schedule.name, schedule.cron, schedule.description
    )
}
