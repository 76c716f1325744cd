//! A coding run's evidence, which code collects.

use crate::{
    diff::Commit,
    text::{neutral_block, neutral_line},
};

/// Maximum length of a command in the evidence, in characters.
const MAX_COMMAND_CHARS: usize = 200;
/// Maximum number of characters kept from the end of a failed command's output.
const MAX_OUTPUT_CHARS: usize = 1_000;
/// Maximum number of lines kept from the end of a failed command's output.
const MAX_OUTPUT_LINES: usize = 30;
/// Maximum number of commands in the evidence; the last are shown.
const MAX_CHECKS: usize = 20;
/// The line that marks an ordinary pull request as a draft.
const MARKED_DRAFT: &str = "\nThis is a draft of the service. The repository has no draft pull requests, so its title says so.\n";
/// Names of the results that verify a change.
const VERIFYING: [&str; 2] = ["test", "build"];
/// Micro-dollars in a cent.
const CENT: i64 = 10_000;

/// The evidence from a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The commit that was pushed.
    pub head: Commit,
    /// The run's page, if the service has a public address.
    pub run_url: Option<String>,
    /// Cost in micro-dollars, if known.
    pub cost_micro_usd: Option<i64>,
    /// Address of a pull request that the request names and the run does not continue.
    pub refers_to: Option<String>,
    /// The pull request is ordinary and stands for a draft.
    pub is_marked_draft: bool,
    /// Tests, builds and linters that ran, in order.
    pub checks: Vec<Check>,
    /// The test and build commands in the repository's table. Those that the run did not use are
    /// listed.
    pub expected: Vec<ExpectedCheck>,
}

/// A test or build command from the repository's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedCheck {
    /// The result's name: `test` or `build`.
    pub name: &'static str,
    /// The command as it is written.
    pub command: String,
}

/// A test, build or linter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Name, such as `test`.
    pub name: String,
    /// The command as it is written.
    pub command: String,
    /// The tree's commit; `None` if the tree had other changes.
    pub head: Option<Commit>,
    /// How the command ended.
    pub result: CheckResult,
}

/// How a test or build ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckResult {
    /// The command succeeded.
    Passed,
    /// The command failed.
    Failed {
        /// The end of the command's output.
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

/// Quotes an output's end as a code block in a list.
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
