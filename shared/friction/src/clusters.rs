//! Groups findings into patterns.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
};

use crate::{
    diagnosis::Severity,
    patterns::{Analyzed, Example, Kind, Pattern},
};

/// Maximum number of patterns in a report, which people and models read.
const MAX_PATTERNS: usize = 50;
/// Maximum number of examples per pattern.
const MAX_EXAMPLES: usize = 5;
/// Maximum runs named by a pattern: as many as a friction ledger stores. The newest are kept.
const MAX_RUN_IDS: usize = 500;

/// A finding before it is clustered.
pub(crate) struct Found<'a> {
    pub(crate) kind: Kind,
    pub(crate) signature: String,
    pub(crate) severity: Severity,
    pub(crate) summary: Cow<'a, str>,
    pub(crate) duration_ms: Option<i64>,
}

/// Findings with the same kind and signature.
struct Cluster<'a> {
    kind: Kind,
    signature: String,
    runs: Vec<&'a str>,
    occurrences: u64,
    duration_ms: i64,
    severity: Severity,
    /// The newest examples, oldest first.
    examples: VecDeque<Example>,
}

/// The clusters so far.
#[derive(Default)]
pub(crate) struct Clusters<'a> {
    clusters: Vec<Cluster<'a>>,
    by_key: HashMap<(Kind, String), usize>,
}

impl<'a> Clusters<'a> {
    /// Adds a finding. Runs must come oldest first, with each run's findings together.
    pub(crate) fn add(&mut self, run: &Analyzed<'a>, found: Found<'_>) {
        let clusters = &mut self.clusters;
        let position = *self
            .by_key
            .entry((found.kind, found.signature))
            .or_insert_with_key(|(kind, signature)| {
                clusters.push(Cluster {
                    kind: *kind,
                    signature: signature.clone(),
                    runs: Vec::new(),
                    occurrences: 0,
                    duration_ms: 0,
                    severity: found.severity,
                    examples: VecDeque::new(),
                });
                clusters.len() - 1
            });
        let cluster = &mut clusters[position];
        cluster.occurrences += 1;
        cluster.duration_ms = cluster
            .duration_ms
            .saturating_add(found.duration_ms.unwrap_or(0));
        cluster.severity = cluster.severity.max(found.severity);
        let example = || Example {
            run_id: run.run_id.to_owned(),
            label: run.label.map(str::to_owned),
            finished_at: run.finished_at,
            summary: found.summary.into_owned(),
            duration_ms: found.duration_ms,
            severity: found.severity,
        };
        if cluster.runs.last() != Some(&run.run_id) {
            cluster.runs.push(run.run_id);
            cluster.examples.push_back(example());
            if cluster.examples.len() > MAX_EXAMPLES {
                cluster.examples.pop_front();
            }
        } else if let Some(last) = cluster.examples.back_mut()
            && found.duration_ms > last.duration_ms
        {
            *last = example();
        }
    }

    /// Returns the clusters that enough runs share, costliest first.
    pub(crate) fn ranked(self, min_runs: usize) -> Vec<Pattern> {
        let mut recurring: Vec<_> = self
            .clusters
            .into_iter()
            .filter(|cluster| cluster.runs.len() >= min_runs)
            .map(pattern)
            .collect();
        recurring.sort_by(|a, b| {
            let cost =
                |pattern: &Pattern| (pattern.duration_ms, pattern.severity, pattern.occurrences);
            cost(b).cmp(&cost(a)).then_with(|| a.key.cmp(&b.key))
        });
        recurring.truncate(MAX_PATTERNS);
        recurring
    }
}

fn pattern(cluster: Cluster<'_>) -> Pattern {
    let Cluster {
        kind,
        signature,
        runs,
        occurrences,
        duration_ms,
        severity,
        examples,
    } = cluster;
    let newest = runs.len().saturating_sub(MAX_RUN_IDS);
    Pattern {
        key: format!("{}:{signature}", kind.as_str()),
        kind,
        signature,
        run_ids: runs[newest..].iter().map(|run| (*run).to_owned()).collect(),
        occurrences,
        duration_ms,
        severity,
        examples: examples.into_iter().rev().collect(),
    }
}
