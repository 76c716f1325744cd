//! Recurring friction: clusters the findings from many diagnoses.
//!
//! Runs are sorted first, then each finding is visited once. Findings in stored diagnoses were
//! never checked, so malformed findings are skipped. Not here: proposals and issues, which are
//! derived from patterns.

use std::collections::HashSet;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    clusters::{Clusters, Found},
    diagnosis::{Category, Severity},
    reading::number,
    signature::signature,
    verdict::duration,
    work,
};

/// Default number of runs that must share a pattern.
const MIN_RUNS: usize = 2;
/// Default threshold for a long run. The longest agent budget is 45 minutes.
const LONG_RUN_MS: i64 = 1_800_000;
/// A long run has high severity from this multiple of the threshold, as slow calls and turns have.
const HIGH_AT: i64 = 2;
/// Findings that cover half a long run explain it.
const EXPLAINED_PART: i64 = 2;

/// A run with the stored diagnosis.
#[derive(Debug, Clone, Copy)]
pub struct Analyzed<'a> {
    /// Run id. A run that occurs twice counts once, with the later end.
    pub run_id: &'a str,
    /// The run's label, if any.
    pub label: Option<&'a str>,
    /// Agent; long runs are grouped by it.
    pub agent: Option<&'a str>,
    /// When the run ended.
    pub finished_at: i64,
    /// The diagnosis as it is stored.
    pub diagnosis: &'a Value,
}

/// Options for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportOptions {
    /// How many runs must share a pattern.
    pub min_runs: usize,
    /// Threshold for a long run in milliseconds.
    pub long_run_ms: i64,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            min_runs: MIN_RUNS,
            long_run_ms: LONG_RUN_MS,
        }
    }
}

/// Recurring friction, costliest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Number of analyzed runs.
    pub runs_analyzed: u64,
    /// Patterns by time, then severity, then occurrences; at most 50.
    pub patterns: Vec<Pattern>,
    /// Number of runs with an incomplete stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_runs: Option<u64>,
}

/// A recurring cause for slow runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// Pattern key: `<kind>:<signature>`.
    pub key: String,
    /// What the findings have in common.
    pub kind: Kind,
    /// Text that the findings share in all runs.
    pub signature: String,
    /// The newest 500 affected runs, oldest first.
    pub run_ids: Vec<String>,
    /// Number of findings in the pattern.
    pub occurrences: u64,
    /// Total time of the findings in milliseconds.
    pub duration_ms: i64,
    /// Highest severity among the findings.
    pub severity: Severity,
    /// The longest finding from each of the newest 5 runs, newest first.
    pub examples: Vec<Example>,
}

/// A pattern's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Findings with the same category.
    Friction(Category),
    /// Long runs that their findings do not explain.
    LongRun,
}

impl Kind {
    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Friction(category) => category.as_str(),
            Self::LongRun => "long_run",
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A finding that a pattern contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// Id of the run.
    pub run_id: String,
    /// The run's label, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When the run ended.
    pub finished_at: i64,
    /// The finding's summary.
    pub summary: String,
    /// Duration in milliseconds, if timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// How severe the finding is.
    pub severity: Severity,
}

/// Clusters the findings from many runs. The run order does not matter.
pub fn report(runs: &[Analyzed<'_>], options: &ReportOptions) -> Report {
    let runs = in_order(runs);
    let mut clusters = Clusters::default();
    for run in &runs {
        let mut explained = 0i64;
        for finding in run
            .diagnosis
            .get("findings")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            work::step();
            let Some(found) = read(finding) else { continue };
            explained = explained.saturating_add(found.duration_ms.unwrap_or(0));
            clusters.add(run, found);
        }
        if let Some(long) = long_run(run, explained, options) {
            clusters.add(run, long);
        }
    }
    let truncated = runs
        .iter()
        .filter(|run| run.diagnosis["truncatedInput"] == true)
        .count() as u64;
    Report {
        runs_analyzed: runs.len() as u64,
        patterns: clusters.ranked(options.min_runs),
        truncated_runs: (truncated > 0).then_some(truncated),
    }
}

/// Sorts the runs, oldest first, and removes duplicates.
fn in_order<'r, 'a>(runs: &'r [Analyzed<'a>]) -> Vec<&'r Analyzed<'a>> {
    let mut ordered: Vec<_> = runs.iter().collect();
    ordered.sort_by_key(|run| (run.finished_at, run.run_id));
    let mut known = HashSet::new();
    let mut ordered: Vec<_> = ordered
        .into_iter()
        .rev()
        .filter(|run| known.insert(run.run_id))
        .collect();
    ordered.reverse();
    ordered
}

fn read(finding: &Value) -> Option<Found<'_>> {
    let text = |field: &str| finding.get(field).and_then(Value::as_str);
    let category = Category::ALL
        .into_iter()
        .find(|category| text("category") == Some(category.as_str()))?;
    let summary = text("summary")?;
    let severity = match text("severity") {
        Some("high") => Severity::High,
        Some("medium") => Severity::Medium,
        _ => Severity::Low,
    };
    Some(Found {
        kind: Kind::Friction(category),
        signature: signature(category, text("tool"), summary),
        severity,
        summary: summary.into(),
        duration_ms: number(finding, "durationMs").filter(|ms| *ms >= 0),
    })
}

fn long_run<'a>(run: &Analyzed<'a>, explained: i64, options: &ReportOptions) -> Option<Found<'a>> {
    let run_ms = number(run.diagnosis, "runMs").filter(|ms| *ms >= options.long_run_ms)?;
    let high = run_ms >= options.long_run_ms.saturating_mul(HIGH_AT);
    (explained < run_ms / EXPLAINED_PART).then(|| Found {
        kind: Kind::LongRun,
        signature: run.agent.unwrap_or("unknown agent").to_owned(),
        severity: if high {
            Severity::High
        } else {
            Severity::Medium
        },
        summary: format!("the run took {}", duration(run_ms)).into(),
        duration_ms: Some(run_ms),
    })
}

#[cfg(test)]
#[path = "patterns_tests.rs"]
mod tests;
