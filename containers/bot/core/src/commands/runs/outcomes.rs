//! `runs.outcomes`: how pull requests and reviews ended, per repository and agent.
//!
//! Reads only facts from stored records. Not here: their totals (`ars_runs::outcomes`).

use ars_commands::{Definition, Field, Kind, names};
use ars_runs::{OutcomeRun, Outcomes as Totals, outcomes};
use ars_wire::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{call::Call, command::Command, error::CommandError};

/// Most runs that the outcomes read.
const MAX_OUTCOME_RUNS: usize = 5_000;
/// Micro-dollars of a dollar.
const MICRO: f64 = 1_000_000.0;
/// The answer without run history.
const HISTORY_OFF: &str = "run history is off, so there are no outcomes: set runHistory.store";

/// The command.
pub(in super::super) struct Outcomes;

/// The input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Input {
    since_ms: Option<Moment>,
    repo: Option<String>,
    agent: Option<String>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Totaled {
    /// Number of runs that were read.
    runs_read: u64,
    /// Whether there may be older runs that were not read.
    truncated: bool,
    /// The outcomes, ordered by repository and agent.
    outcomes: Vec<OutcomeView>,
}

/// The outcomes of one agent in one repository.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OutcomeView {
    /// Repository.
    repo: String,
    /// Agent.
    agent: String,
    /// Pull requests that its runs opened.
    pull_requests_opened: u64,
    /// Those of them that were merged.
    pull_requests_merged: u64,
    /// Those of them that were closed without a merge.
    pull_requests_closed: u64,
    /// Mean time to the merge in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_to_merge_ms: Option<i64>,
    /// Mean cost of a merged pull request in millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_per_merged_micro_usd: Option<u64>,
    /// Reviews that its runs posted.
    reviews_posted: u64,
    /// Findings that its runs resolved.
    findings_resolved: u64,
}

impl Command for Outcomes {
    const DEFINITION: Definition = Definition::read(
        "runs.outcomes",
        "runs:read",
        "Shows what became of pull requests and reviews, per repository and agent.",
    )
    .with_options(&[
        Field::optional(
            "sinceMs",
            Kind::at_least(0),
            "only runs that finished at or after this time",
        ),
        Field::optional(
            "repo",
            Kind::Name(&names::REPOSITORY),
            "only this repository",
        ),
        Field::optional("agent", Kind::Name(&names::AGENT), "only this agent"),
    ]);
    type Input = Input;
    type Output = Totaled;

    async fn run(call: Call<'_>, input: Input) -> Result<Totaled, CommandError> {
        if !call.context.store().keeps_records() {
            return Err(CommandError::unavailable(HISTORY_OFF));
        }
        let runs = call
            .queries()
            .finished_facts(call.viewer, input.since_ms, MAX_OUTCOME_RUNS)
            .await;
        let runs = runs.map_err(|error| CommandError::store("the run history", &error))?;
        let runs_read = runs.len();
        let facts = runs.into_iter().map(|run| OutcomeRun {
            agent: run.summary.agent,
            cost: run.summary.cost,
            pull_request: run.detail.pull_request,
            review: run.detail.posted_review,
        });
        let is_wanted = |row: &Totals| {
            input
                .repo
                .as_ref()
                .is_none_or(|repo| row.repo.eq_ignore_ascii_case(repo))
                && input.agent.as_ref().is_none_or(|agent| row.agent == *agent)
        };
        let outcomes = outcomes(facts)
            .into_iter()
            .filter(is_wanted)
            .map(OutcomeView::from_totals)
            .collect();
        Ok(Totaled {
            runs_read: runs_read as u64,
            truncated: runs_read >= MAX_OUTCOME_RUNS,
            outcomes,
        })
    }

    fn text(output: &Totaled) -> String {
        let mut lines = vec![format!("{} runs read", output.runs_read)];
        lines.extend(output.outcomes.iter().map(OutcomeView::line));
        if output.outcomes.is_empty() {
            lines.push("no pull requests and no reviews".to_owned());
        }
        lines.join("\n")
    }
}

impl OutcomeView {
    fn from_totals(row: Totals) -> Self {
        Self {
            repo: row.repo,
            agent: row.agent,
            pull_requests_opened: row.opened,
            pull_requests_merged: row.merged,
            pull_requests_closed: row.closed,
            time_to_merge_ms: row.merge_ms,
            cost_per_merged_micro_usd: row.merged_microusd,
            reviews_posted: row.reviews,
            findings_resolved: row.resolved,
        }
    }

    fn line(&self) -> String {
        let time = self
            .time_to_merge_ms
            .map(|ms| format!(", merged after {}", ars_friction::duration(ms)));
        let cost = self
            .cost_per_merged_micro_usd
            .map(|microusd| format!(", ${:.2} each", microusd as f64 / MICRO));
        format!(
            "- {} {}: {} opened, {} merged, {} closed{}{}; {} reviews, {} findings resolved",
            self.repo,
            self.agent,
            self.pull_requests_opened,
            self.pull_requests_merged,
            self.pull_requests_closed,
            time.unwrap_or_default(),
            cost.unwrap_or_default(),
            self.reviews_posted,
            self.findings_resolved
        )
    }
}
