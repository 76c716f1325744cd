//! A pull request's title and body.
//!
//! The evidence precedes the description, so the description can neither hide nor imitate it.

use super::{
    description::{Description, MAX_TITLE_CHARS, TourStep},
    evidence::{self, Evidence},
};
use crate::text::{MAX_BODY_CHARS, hidden_marker, neutral_block, neutral_line};

/// Maximum length of an entry in a description's list or tour, in characters.
const MAX_ENTRY_CHARS: usize = 3_000;
/// Title prefix on an ordinary pull request that stands for a draft.
const DRAFT_MARK: &str = "[Draft] ";
/// Marker kind that names the run.
const MARKER: &str = "run";

/// A pull request's texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestText {
    /// The title as the host shows it.
    pub title: String,
    /// The body in Markdown.
    pub body: String,
}

/// Renders a pull request's texts. A description that is too long is cut; the evidence never is.
pub fn render(run_id: &str, description: &Description, evidence: &Evidence) -> PullRequestText {
    let marker = hidden_marker(MARKER, run_id);
    let summary = neutral_block(&description.tldr, MAX_BODY_CHARS / 8);
    let start = format!("{summary}\n\n{}", evidence::render(evidence));
    let end = format!("\n\n{marker}");
    let room = MAX_BODY_CHARS.saturating_sub(start.chars().count() + end.chars().count());
    let mut body = start;
    let mut left = room;
    for (heading, text) in parts(description) {
        let heading = format!("\n## {heading}\n\n");
        let Some(room) = left.checked_sub(heading.chars().count() + 1) else {
            break;
        };
        let text = neutral_block(&text, room);
        if text.is_empty() {
            continue;
        }
        left = room - text.chars().count();
        body.push_str(&heading);
        body.push_str(&text);
        body.push('\n');
    }
    let body = format!("{}{end}", body.trim_end());
    let title = neutral_line(&description.title, MAX_TITLE_CHARS);
    let title = if evidence.is_marked_draft {
        format!("{DRAFT_MARK}{title}")
    } else {
        title
    };
    PullRequestText { title, body }
}

/// Returns whether this title belongs to an ordinary pull request that stands for a draft.
pub fn is_marked_draft(title: &str) -> bool {
    title.starts_with(DRAFT_MARK)
}

fn parts(description: &Description) -> [(&'static str, String); 6] {
    [
        ("What and why", description.what_why.clone()),
        ("Tour", tour(&description.tour)),
        ("Decisions", list(&description.decisions)),
        ("Risks", list(&description.risks)),
        ("Remaining", list(&description.remaining)),
        (
            "Validation, in the words of the agent",
            description.validation.clone(),
        ),
    ]
}

fn list(entries: &[String]) -> String {
    entries
        .iter()
        .map(|entry| format!("- {}\n", flat(entry)))
        .collect()
}

fn tour(steps: &[TourStep]) -> String {
    let step = |(index, step): (usize, &TourStep)| {
        let path = flat(&step.anchor.path).replace('`', "'");
        let hint = step
            .look_for
            .as_deref()
            .map_or(String::new(), |hint| format!(" Look for: {}", flat(hint)));
        format!(
            "{}. {} (`{path}:{}-{}`): {}{hint}\n",
            index + 1,
            flat(&step.title),
            step.anchor.from,
            step.anchor.to,
            flat(&step.description)
        )
    };
    steps.iter().enumerate().map(step).collect()
}

fn flat(text: &str) -> String {
    neutral_line(text, MAX_ENTRY_CHARS)
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
