//! The issue about a single friction pattern.
//!
//! The texts come from commands and their output, so they are neutralised and fenced: an agent may
//! read the issue.

use ars_events::wrap_untrusted;
use ars_friction::{Pattern, duration};
use serde::Serialize;

use crate::text::{hidden_marker, markers, neutral_line};

/// Marker kind in an issue.
const MARKER: &str = "friction";
/// Maximum length of an issue title in characters.
const MAX_ISSUE_TITLE_CHARS: usize = 120;
/// Maximum length of an example summary in an issue, in characters.
const MAX_EXAMPLE_CHARS: usize = 300;
/// Maximum runs that an issue names.
const MAX_NAMED_RUNS: usize = 20;

/// A proposed issue, with the pattern's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// The issue's title, neutralised.
    pub title: String,
    /// Body. It ends with a hidden marker that holds the pattern's key.
    pub body: String,
    /// Labels for the issue.
    pub labels: Vec<String>,
    /// The pattern, with its `key`.
    #[serde(flatten)]
    pub pattern: Pattern,
}

/// Builds a pattern's issue.
pub fn proposal(pattern: &Pattern, label: &str) -> Proposal {
    let kind = pattern.kind.as_str();
    let title = neutral_line(
        &format!("Friction: {kind}: {}", pattern.signature),
        MAX_ISSUE_TITLE_CHARS,
    );
    let runs = pattern.run_ids.len();
    let mut body = format!(
        "{runs} runs had {} findings of this pattern, {} in all. Severity: {}.\n\n",
        pattern.occurrences,
        duration(pattern.duration_ms),
        severity(pattern)
    );
    let examples: String = pattern
        .examples
        .iter()
        .map(|example| {
            let time = example
                .duration_ms
                .map_or(String::new(), |ms| format!(" ({})", duration(ms)));
            format!(
                "{}{time}: {}\n",
                example.run_id,
                neutral_line(&example.summary, MAX_EXAMPLE_CHARS)
            )
        })
        .collect();
    let data = format!(
        "signature: {}\n\nexamples:\n{examples}",
        neutral_line(&pattern.signature, MAX_EXAMPLE_CHARS)
    );
    body.push_str(&block(&wrap_untrusted(data.trim_end())));
    body.push_str("\n\nRuns:\n\n");
    for run in pattern.run_ids.iter().rev().take(MAX_NAMED_RUNS) {
        body.push_str(&format!("- {}\n", neutral_line(run, MAX_EXAMPLE_CHARS)));
    }
    if runs > MAX_NAMED_RUNS {
        body.push_str(&format!("- and {} more\n", runs - MAX_NAMED_RUNS));
    }
    body.push_str(&format!("\n{}", hidden_marker(MARKER, &pattern.key)));
    Proposal {
        title,
        body,
        labels: vec![label.to_owned()],
        pattern: pattern.clone(),
    }
}

/// Shows a text as code, which no line can end: all are indented.
fn block(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}\n"))
        .collect::<String>()
        .trim_end()
        .to_owned()
}

fn severity(pattern: &Pattern) -> &'static str {
    match pattern.severity {
        ars_friction::Severity::Low => "low",
        ars_friction::Severity::Medium => "medium",
        ars_friction::Severity::High => "high",
    }
}

/// Returns the keys of the patterns that an issue is about.
pub(super) fn keys_of(body: &str) -> Vec<String> {
    markers(body, MARKER)
}
