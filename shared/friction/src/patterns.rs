//! What keeps slowing runs: findings of many diagnoses, clustered (bot supplement section 7, `friction.report`).
//!
//! Runs are put in order first, then every finding is looked at once. Diagnoses are read as tolerantly as stored
//! ones must be: their findings were never checked, so what cannot be understood is passed over.
//! Not here: proposals and issues, which are made of patterns.

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

/// Runs that must share a pattern (bot supplement section 7, `minRuns`).
const MIN_RUNS: usize = 2;
/// A run is long from here; the specification names no number. The longest agent budget is 45 minutes.
const LONG_RUN_MS: i64 = 1_800_000;
/// A long run is severe at this multiple, as slow tools and turns are (document 2 section 2.6).
const HIGH_AT: i64 = 2;
/// Findings that account for this part of a long run explain it.
const EXPLAINED_PART: i64 = 2;

/// A run and its stored diagnosis.
#[derive(Debug, Clone, Copy)]
pub struct Analyzed<'a> {
    /// The run. A run given twice counts once, as it finished last.
    pub run_id: &'a str,
    /// What it was about.
    pub label: Option<&'a str>,
    /// Who did it; long runs are told apart by it.
    pub agent: Option<&'a str>,
    /// When it finished.
    pub finished_at: i64,
    /// Its diagnosis.
    pub diagnosis: &'a Value,
}

/// What makes a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportOptions {
    /// Runs that must share it.
    pub min_runs: usize,
    /// A run is long from here, in milliseconds.
    pub long_run_ms: i64,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { min_runs: MIN_RUNS, long_run_ms: LONG_RUN_MS }
    }
}

/// Recurring friction, costliest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Runs looked at.
    pub runs_analyzed: u64,
    /// What recurs: by time, then severity, then occurrences; at most 50.
    pub patterns: Vec<Pattern>,
    /// Runs whose diagnosis was made of a stream that missed events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_runs: Option<u64>,
}

/// One thing that slows runs again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// `<kind>:<signature>`.
    pub key: String,
    /// What kind.
    pub kind: Kind,
    /// What it is about, in words that runs share.
    pub signature: String,
    /// The newest 500 runs it slowed, oldest first.
    pub run_ids: Vec<String>,
    /// Findings.
    pub occurrences: u64,
    /// Their time, in milliseconds.
    pub duration_ms: i64,
    /// That of the worst.
    pub severity: Severity,
    /// One finding per run, its longest: the newest 5, newest first.
    pub examples: Vec<Example>,
}

/// What kind of pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Findings of one category.
    Friction(Category),
    /// Runs that took long though their findings do not say why.
    LongRun,
}

impl Kind {
    /// Its name on the wire.
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

/// A finding of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// The run.
    pub run_id: String,
    /// What it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it finished.
    pub finished_at: i64,
    /// The finding, in words.
    pub summary: String,
    /// How long it took, when timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// How much it matters.
    pub severity: Severity,
}

/// Clusters the findings of many runs. The order the runs are given in does not matter.
pub fn report(runs: &[Analyzed<'_>], options: &ReportOptions) -> Report {
    let runs = in_order(runs);
    let mut clusters = Clusters::default();
    for run in &runs {
        let mut explained = 0i64;
        for finding in run.diagnosis.get("findings").and_then(Value::as_array).into_iter().flatten() {
            work::step();
            let Some(found) = read(finding) else { continue };
            explained = explained.saturating_add(found.duration_ms.unwrap_or(0));
            clusters.add(run, found);
        }
        if let Some(long) = long_run(run, explained, options) {
            clusters.add(run, long);
        }
    }
    let truncated = runs.iter().filter(|run| run.diagnosis["truncatedInput"] == true).count() as u64;
    Report {
        runs_analyzed: runs.len() as u64,
        patterns: clusters.ranked(options.min_runs),
        truncated_runs: (truncated > 0).then_some(truncated),
    }
}

/// Oldest first, each run once.
fn in_order<'r, 'a>(runs: &'r [Analyzed<'a>]) -> Vec<&'r Analyzed<'a>> {
    let mut ordered: Vec<_> = runs.iter().collect();
    ordered.sort_by_key(|run| (run.finished_at, run.run_id));
    let mut seen = HashSet::new();
    let mut ordered: Vec<_> = ordered.into_iter().rev().filter(|run| seen.insert(run.run_id)).collect();
    ordered.reverse();
    ordered
}

fn read(finding: &Value) -> Option<Found<'_>> {
    let text = |field: &str| finding.get(field).and_then(Value::as_str);
    let category = Category::ALL.into_iter().find(|category| text("category") == Some(category.as_str()))?;
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
        severity: if high { Severity::High } else { Severity::Medium },
        summary: format!("the run took {}", duration(run_ms)).into(),
        duration_ms: Some(run_ms),
    })
}

#[cfg(test)]
#[path = "patterns_tests.rs"]
mod tests;
