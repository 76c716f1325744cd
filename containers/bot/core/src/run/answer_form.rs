//! The form of a run's answer: blocks if the configuration asks for them, and canonical Markdown.
//!
//! Not here: the blocks and the Markdown (`ars_answers`).

use std::borrow::Cow;

use ars_agent::{Part, RunOutcome, Turn};
use ars_types::RunStatus;

use super::report::DriverExit;

/// Returns the text that asks the model again for an answer in blocks, at most twice in these
/// turns.
pub(super) fn reask(outcome: &RunOutcome, turns: &[Turn]) -> Option<String> {
    let is_own_end = outcome.status == RunStatus::Completed && !outcome.cut_short;
    let answer = outcome.answer.as_ref().filter(|_| is_own_end)?;
    let invalid = ars_answers::read(answer).err()?;
    let is_reask = |part: &&Part| matches!(part, Part::Text { text, .. } if text.starts_with(ars_answers::REASK));
    let parts = turns.iter().flat_map(|turn| &turn.parts);
    let asked = parts.filter(is_reask).count();
    (asked < ars_answers::MAX_REASKS).then(|| invalid.reask())
}

/// Returns whether the run failed or used up a budget. Then the earlier words are the answer.
pub(super) fn is_lost(exit: &DriverExit) -> bool {
    let DriverExit::Ended(outcome) = exit else {
        return false;
    };
    outcome.status == RunStatus::Failed
        || outcome.status == RunStatus::Completed && outcome.cut_short
}

/// Writes the answer as canonical Markdown. Returns the model's own text if it was another.
pub(super) fn settle(outcome: &mut RunOutcome, is_in_blocks: bool) -> Option<String> {
    // An error's words are the service's own.
    let is_error = outcome.status == RunStatus::Failed;
    let answer = outcome.answer.as_mut().filter(|_| !is_error)?;
    let blocks = is_in_blocks.then(|| ars_answers::read_within(answer));
    let markdown = blocks
        .flatten()
        .map_or(Cow::Borrowed(&**answer), Cow::Owned);
    let settled = ars_answers::canonical(&markdown).into_owned();
    (settled != *answer).then(|| std::mem::replace(answer, settled))
}
