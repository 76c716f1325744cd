//! Which patterns become issues, and the output of the command.

use std::collections::BTreeMap;

use ars_friction::{Pattern, Report};
use serde::Serialize;

use super::proposal::{Proposal, keys_of, proposal};

/// Default number of issues that one call files.
const DEFAULT_TOP: usize = 3;
/// Default label.
const DEFAULT_LABEL: &str = "self-improvement";

/// Options of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposeOptions {
    /// Maximum issues to file.
    pub top: usize,
    /// Label of the issues.
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

/// An open issue of the target repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIssue {
    /// Number.
    pub number: u64,
    /// Address.
    pub url: String,
    /// Body.
    pub body: String,
}

/// The decision about the patterns of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Issues to file, costliest first.
    pub to_file: Vec<Proposal>,
    /// Patterns that an open issue is about, with its number and address.
    pub duplicates: Vec<Filed>,
    /// Nothing is filed.
    pub dry_run: bool,
}

/// A proposal and its issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Filed {
    /// The proposal.
    pub proposal: Proposal,
    /// The issue.
    pub issue: IssueRef,
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IssueRef {
    /// Number.
    pub number: u64,
    /// Address.
    pub url: String,
}

/// A proposal that the host did not accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The proposal.
    pub proposal: Proposal,
    /// Reason.
    pub error: String,
}

/// The output of the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposed {
    /// Number of analyzed runs.
    pub runs_analyzed: u64,
    /// Patterns.
    pub patterns: Vec<Pattern>,
    /// The proposals of this call.
    pub proposals: Vec<Proposal>,
    /// Filed issues.
    pub filed: Vec<Filed>,
    /// Patterns that an open issue is about.
    pub duplicates: Vec<Filed>,
    /// Proposals that were not accepted.
    pub failed: Vec<Failed>,
    /// Nothing was filed.
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
    /// Returns the output, given the end of each attempt in the order of `to_file`. A dry run has none.
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
