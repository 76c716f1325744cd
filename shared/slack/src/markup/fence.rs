//! Code in Slack's markup. A backtick cannot be escaped there, so a look-alike replaces it.

use crate::text::escape;

/// Begins and ends a code block.
pub(super) const FENCE: &str = "```";
/// U+02CB, which looks like a backtick.
const LOOK_ALIKE: &str = "\u{2cb}";

/// Returns code for use between two backticks.
pub(super) fn inline(code: &str) -> String {
    escape(&code.replace('`', LOOK_ALIKE))
}

/// Returns a code block with its fences.
pub(super) fn block(code: &str) -> String {
    let code = code.strip_suffix('\n').unwrap_or(code);
    let code = code.replace(FENCE, &LOOK_ALIKE.repeat(FENCE.len()));
    format!("{FENCE}\n{}\n{FENCE}", escape(&code))
}
