//! `friction.report`: recurring friction in the runs that the caller may read.

use ars_commands::{Definition, Field, Kind};
use ars_friction::{Analyzed, Example, Pattern, ReportOptions, Severity, duration, report};
use ars_wire::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::{call::Call, command::Command, error::CommandError, untrusted::Untrusted};
use crate::queries::RunEntry;

/// Runs that are analyzed by default.
const DEFAULT_RUNS: usize = 500;
/// Most runs that are analyzed.
const MAX_RUNS: usize = 1_000;
/// The answer without run history.
const HISTORY_OFF: &str =
    "run history is off, so there are no runs to report on: set runHistory.store";

/// The command.
pub(in super::super) struct Report;

/// The input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Input {
    since_ms: Option<Moment>,
    limit: Option<usize>,
    min_runs: Option<usize>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Reported {
    /// Number of analyzed runs.
    runs_analyzed: u64,
    /// Patterns, costliest first.
    patterns: Vec<PatternView>,
    /// Always empty: a report proposes nothing.
    proposals: Vec<Map<String, Value>>,
    /// Always empty.
    filed: Vec<Map<String, Value>>,
    /// Always empty.
    duplicates: Vec<Map<String, Value>>,
    /// Always empty.
    failed: Vec<Map<String, Value>>,
    /// Always false.
    dry_run: bool,
    /// Number of runs with an incomplete stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_runs: Option<u64>,
}

/// A recurring cause of slow runs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PatternView {
    /// `<kind>:<signature>`, fenced.
    pub(super) key: Untrusted,
    /// A category of findings, or `long_run`.
    kind: String,
    /// Text that the findings share, without numbers, paths and quotes, fenced.
    signature: Untrusted,
    /// The affected runs, oldest first.
    run_ids: Vec<String>,
    /// Number of findings.
    occurrences: u64,
    /// Their time in milliseconds.
    duration_ms: i64,
    /// Highest severity.
    #[schemars(with = "String")]
    severity: Severity,
    /// Findings, newest first.
    examples: Vec<ExampleView>,
}

/// A finding of a pattern.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExampleView {
    /// The run.
    run_id: String,
    /// Title of the run, fenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Untrusted>,
    /// When the run finished.
    finished_at: i64,
    /// Summary, fenced.
    summary: Untrusted,
    /// Duration in milliseconds, if timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    /// Severity.
    #[schemars(with = "String")]
    severity: Severity,
}

impl Command for Report {
    const DEFINITION: Definition = Definition::read(
        "friction.report",
        "friction:read",
        "Ranks recurring causes of slow runs.",
    )
    .with_options(&[
        Field::optional(
            "sinceMs",
            Kind::at_least(0),
            "only runs that finished at or after this time",
        ),
        Field::optional(
            "limit",
            Kind::at_least(1),
            "most runs; at most 1000 are read",
        ),
        Field::optional(
            "minRuns",
            Kind::at_least(1),
            "runs that must share a pattern; by default 2, or as configured",
        ),
    ])
    .leaving_run();
    type Input = Input;
    type Output = Reported;

    async fn run(call: Call<'_>, input: Input) -> Result<Reported, CommandError> {
        let found = recurring(&call, input.since_ms, input.limit, input.min_runs).await?;
        Ok(Reported {
            runs_analyzed: found.runs_analyzed,
            patterns: found
                .patterns
                .into_iter()
                .map(PatternView::from_pattern)
                .collect(),
            proposals: Vec::new(),
            filed: Vec::new(),
            duplicates: Vec::new(),
            failed: Vec::new(),
            dry_run: false,
            truncated_runs: found.truncated_runs,
        })
    }

    fn text(output: &Reported) -> String {
        let mut lines = vec![format!("{} runs analyzed", output.runs_analyzed)];
        lines.extend(output.patterns.iter().map(|pattern| {
            format!(
                "- {} ({}): {} in {} runs, {}",
                pattern.key.plain(),
                pattern.severity_word(),
                pattern.occurrences,
                pattern.run_ids.len(),
                duration(pattern.duration_ms)
            )
        }));
        if output.patterns.is_empty() {
            lines.push("no recurring friction".to_owned());
        }
        lines.join("\n")
    }
}

/// Reports the friction of the runs that the caller may read.
pub(super) async fn recurring(
    call: &Call<'_>,
    since_ms: Option<Moment>,
    limit: Option<usize>,
    min_runs: Option<usize>,
) -> Result<ars_friction::Report, CommandError> {
    if !call.context.store().keeps_records() {
        return Err(CommandError::unavailable(HISTORY_OFF));
    }
    let limit = limit.unwrap_or(DEFAULT_RUNS).min(MAX_RUNS);
    let runs = call
        .queries()
        .finished_since(call.viewer, since_ms, limit)
        .await;
    let runs = runs.map_err(|error| CommandError::store("the run history", &error))?;
    let defaults = ReportOptions::default();
    let min_runs = min_runs.or(call.context.settings().report_min_runs);
    let options = ReportOptions {
        min_runs: min_runs.unwrap_or(defaults.min_runs),
        ..defaults
    };
    let analyzed: Vec<Analyzed<'_>> = runs.iter().filter_map(analyzed).collect();
    Ok(report(&analyzed, &options))
}

fn analyzed(run: &RunEntry) -> Option<Analyzed<'_>> {
    Some(Analyzed {
        run_id: run.summary.id.as_str(),
        label: Some(run.summary.label.as_str()).filter(|label| *label != run.summary.id.as_str()),
        agent: run.summary.agent.as_deref(),
        finished_at: run.summary.finished?.0.rounded(),
        diagnosis: run.detail.diagnosis.as_ref()?,
    })
}

impl PatternView {
    pub(super) fn from_pattern(pattern: Pattern) -> Self {
        Self {
            key: Untrusted(pattern.key),
            kind: pattern.kind.as_str().to_owned(),
            signature: Untrusted(pattern.signature),
            run_ids: pattern.run_ids,
            occurrences: pattern.occurrences,
            duration_ms: pattern.duration_ms,
            severity: pattern.severity,
            examples: pattern
                .examples
                .into_iter()
                .map(ExampleView::from_example)
                .collect(),
        }
    }

    const fn severity_word(&self) -> &'static str {
        super::text::severity(self.severity)
    }
}

impl ExampleView {
    fn from_example(example: Example) -> Self {
        Self {
            run_id: example.run_id,
            label: example.label.map(Untrusted),
            finished_at: example.finished_at,
            summary: Untrusted(example.summary),
            duration_ms: example.duration_ms,
            severity: example.severity,
        }
    }
}
