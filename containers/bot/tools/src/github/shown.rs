//! The host's texts for the model: redacted, paged and marked as untrusted.

use ars_events::wrap_untrusted;

use crate::{ToolContext, ToolOutput};

/// Maximum characters of host text in a tool's answer. It is below the limit for any output in the
/// conversation.
pub(super) const MAX_HOST_TEXT_CHARS: usize = 50_000;

/// Shows a text from a character on. The head is the service's own.
pub(super) fn untrusted(
    context: &ToolContext<'_>,
    head: &str,
    text: String,
    offset: usize,
) -> ToolOutput {
    // Redacted before the cut, because a cut secret is not recognized.
    let text = (context.run.hide)(text);
    let total = text.chars().count();
    let page: String = text
        .chars()
        .skip(offset)
        .take(MAX_HOST_TEXT_CHARS)
        .collect();
    let end = offset.saturating_add(page.chars().count());
    let mut shown = format!("{head}\n{}", wrap_untrusted(page.trim_end()));
    if end < total {
        shown.push_str(&format!(
            "\n[Characters {offset} to {end} of {total}; go on with offset {end}.]"
        ));
    }
    ToolOutput::text(shown)
}

/// Joins the lines of a host text that is shown on a single line.
pub(super) fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
