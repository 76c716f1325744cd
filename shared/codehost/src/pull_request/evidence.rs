//! The evidence of a coding run, which code collects.

use crate::{
    diff::Commit,
    text::{neutral_block, neutral_line},
};

/// Maximum characters of a command in the evidence.
const MAX_COMMAND_CHARS: usize = 200;
/// Maximum characters of the end of a failed command's output.
const MAX_OUTPUT_CHARS: usize = 1_000;
/// Maximum lines of the end of a failed command's output.
const MAX_OUTPUT_LINES: usize = 30;
/// Maximum commands in the evidence; the last ones are shown.
const MAX_CHECKS: usize = 20;
/// The line of an ordinary pull request that stands for a draft.
const MARKED_DRAFT: &str = "\nThis is a draft of the service. The repository has no draft pull requests, so its title says so.\n";
/// Names of results that verify a change.
const VERIFYING: [&str; 2] = ["test", "build"];
/// Micro-dollars of a cent.
const CENT: i64 = 10_000;

/// Evidence of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The commit that was pushed.
    pub head: Commit,
    /// The page of the run, if the service has a public address.
    pub run_url: Option<String>,
    /// Cost in micro-dollars, if known.
    pub cost_micro_usd: Option<i64>,
    /// Address of a pull request that the request names and the run does not continue.
    pub refers_to: Option<String>,
    /// The pull request is an ordinary one that stands for a draft.
    pub is_marked_draft: bool,
    /// Tests, builds and linters of the run, in order.
    pub checks: Vec<Check>,
    /// The test and build commands of the repository's table. Those that the run did not use are listed.
    pub expected: Vec<ExpectedCheck>,
}

/// A test or build command of the repository's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedCheck {
    /// The name of its result: `test` or `build`.
    pub name: &'static str,
    /// Command.
    pub command: String,
}

/// A test, build or linter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Name, such as `test`.
    pub name: String,
    /// Command.
    pub command: String,
    /// The commit of the tree; `None` if the tree had other changes.
    pub head: Option<Commit>,
    /// Result.
    pub result: CheckResult,
}

/// Result of a test or build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckResult {
    /// It succeeded.
    Passed,
    /// It failed.
    Failed {
        /// The end of its output.
        output: String,
    },
    /// It did not end.
    Unfinished,
}

impl Check {
    /// Returns whether it tests or builds the change. A linter does neither.
    pub(super) fn verifies(&self) -> bool {
        VERIFYING.contains(&self.name.as_str())
    }
}

/// Renders the evidence. A result at another commit is listed as unverified, not as a result.
pub(super) fn render(evidence: &Evidence) -> String {
    let mut text = format!("## Evidence\n\nHead: {}\n", evidence.head);
    if let Some(url) = &evidence.run_url {
        text.push_str(&format!("Run: {url}\n"));
    }
    if let Some(cost) = evidence.cost_micro_usd {
        // Rounded up, so that a cost is never shown as none.
        let cents = cost.max(0).saturating_add(CENT - 1) / CENT;
        text.push_str(&format!("Cost: ${}.{:02}\n", cents / 100, cents % 100));
    }
    if let Some(url) = &evidence.refers_to {
        text.push_str(&format!("Refers to: {url}\n"));
    }
    if evidence.is_marked_draft {
        text.push_str(MARKED_DRAFT);
    }
    let shown = &evidence.checks[evidence.checks.len().saturating_sub(MAX_CHECKS)..];
    let (at_head, elsewhere): (Vec<_>, Vec<_>) = shown
        .iter()
        .partition(|check| check.head.as_ref() == Some(&evidence.head));
    let verified: Vec<_> = at_head
        .iter()
        .filter(|check| check.result != CheckResult::Unfinished)
        .collect();
    text.push_str("\nChecked at this head:\n\n");
    if !verified.iter().any(|check| check.verifies()) {
        text.push_str("- no test or build ran at this head\n");
    }
    for check in &verified {
        text.push_str(&entry(
            check,
            if check.result == CheckResult::Passed {
                "passed"
            } else {
                "failed"
            },
        ));
        if let CheckResult::Failed { output } = &check.result {
            text.push_str(&quoted(output));
        }
    }
    let missing = evidence
        .expected
        .iter()
        .filter(|one| shown.iter().all(|check| check.name.as_str() != one.name));
    let unfinished = at_head
        .iter()
        .filter(|check| check.result == CheckResult::Unfinished);
    let open: String = unfinished
        .map(|check| entry(check, "did not end"))
        .chain(elsewhere.iter().map(|check| match &check.head {
            Some(other) => entry(check, &format!("ran at {} only", other.short())),
            None => entry(check, "ran with other changes in the tree"),
        }))
        .chain(missing.map(|one| line(one.name, "has no result", &one.command)))
        .collect();
    if !open.is_empty() {
        text.push_str("\nNot verified at this head:\n\n");
        text.push_str(&open);
    }
    text
}

fn entry(check: &Check, result: &str) -> String {
    line(&check.name, result, &check.command)
}

fn line(name: &str, result: &str, command: &str) -> String {
    let name = neutral_line(name, MAX_COMMAND_CHARS);
    let command = neutral_line(command, MAX_COMMAND_CHARS).replace('`', "'");
    format!("- {name} {result}: `{command}`\n")
}

/// Quotes the end of an output as a block of code in a list.
fn quoted(output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(MAX_OUTPUT_LINES)..].join("\n");
    let end: String = last
        .chars()
        .skip(last.chars().count().saturating_sub(MAX_OUTPUT_CHARS))
        .collect();
    // Indented code has no end mark that the output could contain.
    let lines: String = neutral_block(&end, MAX_OUTPUT_CHARS)
        .lines()
        .map(|line| format!("\n      {line}"))
        .collect();
    format!("{lines}\n")
}
