//! `runs.list`: live and stored runs, newest first, as metadata.

use ars_commands::{Definition, Field, FieldRule, Kind, names};
use ars_types::RunId;
use ars_wire::{Moment, runs::Cursor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    short_id,
    view::{HEADINGS, RunView},
};
use crate::queries::PageRequest;

/// Rows of a page by default.
const DEFAULT_LIMIT: i64 = 50;
/// Most rows of a page.
const MAX_LIMIT: i64 = 200;

/// The command.
pub(in super::super) struct List;

/// The input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Input {
    status: Status,
    agent: Option<String>,
    channel: Option<String>,
    since_ms: Option<Moment>,
    limit: usize,
    before: Option<Moment>,
    before_id: Option<RunId>,
}

/// The part of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Finished,
    All,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Runs {
    /// Unfinished runs, newest start first, then finished ones, newest end first.
    runs: Vec<RunView>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<CursorView>,
    /// The ledger or the history did not answer, so runs may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    store_unavailable: bool,
    /// The time of the listing, for durations of live runs.
    #[serde(skip)]
    now: i64,
}

/// A position in the list: `before` and `beforeId` of the next page.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CursorView {
    /// End of the last run.
    #[schemars(with = "f64")]
    finished_at: Moment,
    /// The last run.
    #[schemars(with = "String")]
    id: RunId,
}

impl Command for List {
    const DEFINITION: Definition = Definition::read(
        "runs.list",
        "runs:read",
        "Lists runs, live and stored, newest first.",
    )
    .with_options(&[
        Field::optional(
            "status",
            Kind::Choice(&["active", "finished", "all"]),
            "the part of the list",
        )
        .or("active"),
        Field::optional(
            "agent",
            Kind::Name(&names::AGENT),
            "only runs of this agent",
        ),
        Field::optional(
            "channel",
            Kind::Name(&names::CHANNEL),
            "only runs of this channel",
        ),
        Field::optional(
            "sinceMs",
            Kind::at_least(0),
            "only runs that finished at or after this time",
        ),
        Field::optional("limit", Kind::within(1, MAX_LIMIT), "most runs").or_integer(DEFAULT_LIMIT),
        Field::optional(
            "before",
            // `nextBefore.finishedAt` may have a fraction.
            Kind::Duration,
            "cursor: only runs that finished before this time",
        ),
        Field::optional(
            "beforeId",
            Kind::Name(&names::RUN),
            "cursor: among equal times, only ids below this one",
        ),
    ])
    .with_rules(&[FieldRule::Requires("beforeId", "before")]);
    type Input = Input;
    type Output = Runs;

    async fn run(call: Call<'_>, input: Input) -> Result<Runs, CommandError> {
        if input.before_id.is_some() && input.before.is_none() {
            return Err(CommandError::invalid(
                "beforeId must be given together with before",
            ));
        }
        let request = PageRequest {
            active: input.status != Status::Finished,
            finished: input.status != Status::Active,
            agent: input.agent,
            channel: input.channel,
            since: input.since_ms,
            before: input.before,
            before_id: input.before_id,
            limit: input.limit,
            has_diagnoses: false,
        };
        let page = call.queries().list_entries(call.viewer, &request).await;
        let next_before = page
            .next
            .map(|Cursor { finished_at, id }| CursorView { finished_at, id });
        Ok(Runs {
            runs: page.runs.into_iter().map(RunView::of_row).collect(),
            next_before,
            store_unavailable: page.store_unavailable,
            now: call.context.clock().now(),
        })
    }

    fn set_now(output: &mut Runs, now: i64) {
        output.now = now;
    }

    fn terminal(output: &Runs) -> String {
        let chars = short_id::chars(output.runs.iter().map(|run| &run.id));
        let rows = output.runs.iter().map(|run| run.cells(output.now, chars));
        let headings = HEADINGS.map(str::to_owned);
        let lines = if output.runs.is_empty() {
            Vec::new()
        } else {
            aligned([headings].into_iter().chain(rows))
        };
        with_notes(lines, output)
    }

    fn text(output: &Runs) -> String {
        let chars = short_id::chars(output.runs.iter().map(|run| &run.id));
        let lines = output
            .runs
            .iter()
            .map(|run| run.line(output.now, chars))
            .collect();
        with_notes(lines, output)
    }
}

/// Returns the lines of a table with columns as wide as their widest cells.
fn aligned<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> Vec<String> {
    let rows: Vec<[String; N]> = rows.collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}  "));
        cells.collect::<String>().trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Returns the list with what is missing in it, and where it continues.
fn with_notes(mut lines: Vec<String>, output: &Runs) -> String {
    if lines.is_empty() {
        lines.push("no runs".to_owned());
    }
    if output.store_unavailable {
        lines.push("the run history is not available right now, so runs may be missing".to_owned());
    }
    if let Some(CursorView { finished_at, id }) = &output.next_before {
        lines.push(format!("more: --before {finished_at} --before-id {id}"));
    }
    lines.join("\n")
}
