//! Which patterns become issues, and what the command prints.

use std::collections::BTreeMap;

use ars_friction::{Pattern, Report};
use serde::Serialize;

use super::proposal::{Proposal, keys_of, proposal};

/// Default number of issues filed per call.
const DEFAULT_TOP: usize = 3;
/// Label to use by default.
const DEFAULT_LABEL: &str = "self-improvement";

/// Options for a single call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposeOptions {
    /// Maximum issues to file.
    pub top: usize,
    /// Label for the filed issues.
    pub label: String,
    /// Nothing is filed.
    pub dry_run: bool,
}

impl Default for ProposeOptions {
    fn default() -> Self {
        Self {
            top: DEFAULT_TOP,
            label: DEFAULT_LABEL.to_owned(),
            dry_run: false,
        }
    }
}

/// An open issue in the target repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIssue {
    /// The issue's number in the repository.
    pub number: u64,
    /// The issue's web address.
    pub url: String,
    /// The body, which may hold a pattern marker.
    pub body: String,
}

/// Decides about the patterns in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Issues to file, costliest first.
    pub to_file: Vec<Proposal>,
    /// Patterns that an open issue is about, with the issue's number and address.
    pub duplicates: Vec<Filed>,
    /// Nothing is filed.
    pub dry_run: bool,
}

/// A proposal and the issue for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Filed {
    /// The proposal for the pattern.
    pub proposal: Proposal,
    /// The issue about the pattern.
    pub issue: IssueRef,
}

/// References an issue by number and address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IssueRef {
    /// The issue's number in the repository.
    pub number: u64,
    /// The issue's web address.
    pub url: String,
}

/// A proposal that the host did not accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The proposal for the pattern.
    pub proposal: Proposal,
    /// Why the host did not accept it.
    pub error: String,
}

/// The command's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposed {
    /// Number of analyzed runs.
    pub runs_analyzed: u64,
    /// Patterns that the report found.
    pub patterns: Vec<Pattern>,
    /// The proposals from this call.
    pub proposals: Vec<Proposal>,
    /// Issues that this call filed.
    pub filed: Vec<Filed>,
    /// Patterns that an open issue is about.
    pub duplicates: Vec<Filed>,
    /// Proposals that were not accepted.
    pub failed: Vec<Failed>,
    /// Whether the call filed nothing by request.
    pub dry_run: bool,
    /// Number of runs with an incomplete stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_runs: Option<u64>,
}

/// Chooses the issues to file: the costliest patterns that no open issue is about.
///
/// The issues are listed before every call, so a call after a crash finds those that were filed.
pub fn plan(patterns: &[Pattern], open: &[OpenIssue], options: &ProposeOptions) -> Plan {
    let mut known: BTreeMap<String, &OpenIssue> = BTreeMap::new();
    for issue in open {
        for key in keys_of(&issue.body) {
            known.entry(key).or_insert(issue);
        }
    }
    let mut plan = Plan {
        to_file: Vec::new(),
        duplicates: Vec::new(),
        dry_run: options.dry_run,
    };
    for pattern in patterns {
        let proposal = proposal(pattern, &options.label);
        match known.get(&pattern.key) {
            Some(issue) => {
                let issue = IssueRef {
                    number: issue.number,
                    url: issue.url.clone(),
                };
                plan.duplicates.push(Filed { proposal, issue });
            }
            None if plan.to_file.len() < options.top => plan.to_file.push(proposal),
            None => {}
        }
    }
    plan
}

impl Plan {
    /// Returns the output, given how each attempt in `to_file` order ended. A dry run has none.
    pub fn output(self, report: Report, attempts: Vec<Result<IssueRef, String>>) -> Proposed {
        let (mut filed, mut failed) = (Vec::new(), Vec::new());
        for (proposal, attempt) in self
            .to_file
            .iter()
            .cloned()
            .zip(attempts)
            .filter(|_| !self.dry_run)
        {
            match attempt {
                Ok(issue) => filed.push(Filed { proposal, issue }),
                Err(error) => failed.push(Failed { proposal, error }),
            }
        }
        Proposed {
            runs_analyzed: report.runs_analyzed,
            patterns: report.patterns,
            proposals: self.to_file,
            filed,
            duplicates: self.duplicates,
            failed,
            dry_run: self.dry_run,
            truncated_runs: report.truncated_runs,
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
