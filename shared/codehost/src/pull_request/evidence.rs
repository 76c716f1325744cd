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
    /// Tests and builds of the run, in order.
    pub checks: Vec<Check>,
}

/// A test or build.
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
    let shown = &evidence.checks[evidence.checks.len().saturating_sub(MAX_CHECKS)..];
    let (at_head, elsewhere): (Vec<_>, Vec<_>) =
        shown.iter().partition(|check| check.head.as_ref() == Some(&evidence.head));
    let verified: Vec<_> = at_head.iter().filter(|check| check.result != CheckResult::Unfinished).collect();
    text.push_str("\nChecked at this head:\n\n");
    if verified.is_empty() {
        text.push_str("- no test or build ran at this head\n");
    }
    for check in &verified {
        text.push_str(&entry(check, if check.result == CheckResult::Passed { "passed" } else { "failed" }));
        if let CheckResult::Failed { output } = &check.result {
            text.push_str(&quoted(output));
        }
    }
    let unfinished = at_head.iter().filter(|check| check.result == CheckResult::Unfinished);
    let open: String = unfinished
        .map(|check| entry(check, "did not end"))
        .chain(elsewhere.iter().map(|check| match &check.head {
            Some(other) => entry(check, &format!("ran at {} only", other.short())),
            None => entry(check, "ran with other changes in the tree"),
        }))
        .collect();
    if !open.is_empty() {
        text.push_str("\nNot verified at this head:\n\n");
        text.push_str(&open);
    }
    text
}

fn entry(check: &Check, result: &str) -> String {
    let name = neutral_line(&check.name, MAX_COMMAND_CHARS);
    let command = neutral_line(&check.command, MAX_COMMAND_CHARS).replace('`', "'");
    format!("- {name} {result}: `{command}`\n")
}

/// Quotes the end of an output as a block of code in a list.
fn quoted(output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(MAX_OUTPUT_LINES)..].join("\n");
    let end: String = last.chars().skip(last.chars().count().saturating_sub(MAX_OUTPUT_CHARS)).collect();
    // Indented code has no end mark that the output could contain.
    let lines: String =
        neutral_block(&end, MAX_OUTPUT_CHARS).lines().map(|line| format!("\n      {line}")).collect();
    format!("{lines}\n")
}
