//! A run's conversation, of which the model receives a part.
//!
//! The whole is numbered from the run's start and never changes. It is stored turn by turn
//! (`resume::encode`), and only the part for the model stays in memory:
//!
//! ```text
//! [earlier turns of the thread] request [+ summary] kept turns…
//! ```
//!
//! The kept turns begin with a model turn, so a call is never separated from the results. [`Shape`]
//! selects the part from the whole. With it and the stored turns, a resume restores exactly the
//! same part.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{estimate, oversize, trim};
use crate::{Part, Role, Turn};

/// Share of the limit, in percent, that the newest turns may keep through a compaction.
const KEEP_PERCENT: u64 = 30;
/// Least share of the limit, in percent, that a compaction must free. Below it, the summary call
/// would cost more than it frees.
const GAIN_PERCENT: u64 = 12;
/// The longest summary, in characters: about 4,000 tokens. Every later step record contains it.
const SUMMARY_CHARS: u64 = 16_000;
/// Longest summary in a small window, in characters per hundred tokens: a fifth of the limit.
const SUMMARY_CHARS_PERCENT: u64 = 80;

/// Selects the conversation part that the model receives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shape {
    /// The first turn shown.
    from: u64,
    /// The turn that holds the request.
    request: u64,
    /// The first turn shown after the request.
    kept_from: u64,
    /// Outputs in the turns before this index were dropped.
    #[serde(default)]
    trimmed_to: u64,
    /// Turns without their images and documents, because the model's API rejected them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    files_left_out: BTreeSet<u64>,
    /// Replaces the turns before the request and those between it and the kept turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// Names of the tools that the replaced turns called.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    summarized_tools: BTreeSet<String>,
}

/// The part for the model, and the place in the whole.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    shown: Vec<Turn>,
    shape: Shape,
    /// Number of turns that are stored and no longer change.
    sealed: u64,
}

impl Conversation {
    /// Creates a conversation from these turns, which end with the request.
    pub(crate) fn new(turns: Vec<Turn>) -> Self {
        let sealed = turns.len() as u64;
        let shape = Shape {
            request: sealed.saturating_sub(1),
            kept_from: sealed,
            ..Shape::default()
        };
        Self {
            shown: turns,
            shape,
            sealed,
        }
    }

    /// Restores the part with this shape.
    pub(crate) fn restore(mut whole: Vec<Turn>, shape: Shape) -> Self {
        let sealed = whole.len() as u64;
        let length = whole.len();
        let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(length);
        let (kept_from, trimmed_to) = (index(shape.kept_from), index(shape.trimmed_to));
        let (from, request) = (index(shape.from), index(shape.request.saturating_add(1)));
        for at in &shape.files_left_out {
            whole.get_mut(index(*at)).map(trim::leave_out_files);
        }
        whole
            .iter_mut()
            .take(trimmed_to)
            .skip(kept_from)
            .for_each(|turn| {
                trim::drop_outputs(turn);
            });
        let kept = whole.split_off(kept_from);
        whole.truncate(request);
        let mut shown = whole.split_off(from.min(whole.len()));
        if let (Some(summary), Some(request)) = (&shape.summary, shown.last_mut()) {
            request.parts.push(framed(summary));
        }
        shown.extend(kept);
        Self {
            shown,
            shape,
            sealed,
        }
    }

    pub(crate) fn shown(&self) -> &[Turn] {
        &self.shown
    }

    /// Returns the names of all called tools, including those in turns that a summary replaced.
    pub(crate) fn tools(&self) -> BTreeSet<String> {
        called_tools(&self.shown)
            .map(str::to_owned)
            .chain(self.shape.summarized_tools.iter().cloned())
            .collect()
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of turns in the whole conversation.
    pub(crate) fn total(&self) -> u64 {
        self.shape.kept_from + self.shown.len().saturating_sub(self.head()) as u64
    }

    /// Returns the turns from this index on, as far as they are in memory.
    pub(crate) fn since(&self, turn: u64) -> &[Turn] {
        let missing = self.total().saturating_sub(turn);
        let count = usize::try_from(missing)
            .unwrap_or(usize::MAX)
            .min(self.shown.len());
        &self.shown[self.shown.len() - count..]
    }

    /// Number of turns up to the request, inclusive.
    fn head(&self) -> usize {
        let head = self
            .shape
            .request
            .saturating_sub(self.shape.from)
            .saturating_add(1);
        usize::try_from(head)
            .unwrap_or(usize::MAX)
            .min(self.shown.len())
    }

    /// Adds the model's answer. Merges the continuation of a paused turn into that turn.
    pub(crate) fn answer(&mut self, parts: Vec<Part>) {
        if !parts.is_empty() {
            self.say(Role::Assistant, parts);
        }
    }

    /// Adds tool results as a turn.
    pub(crate) fn results(&mut self, parts: Vec<Part>) {
        self.shown.push(Turn {
            role: Role::User,
            parts,
        });
    }

    /// Adds text from the service or the requester, behind the same turn's results.
    pub(crate) fn add_user_parts(&mut self, parts: Vec<Part>) {
        self.say(Role::User, parts);
    }

    /// Appends to the last turn if it has the same speaker and is not stored yet. Adapters merge
    /// neighbouring turns with the same speaker, so stored turns need no change.
    fn say(&mut self, role: Role, parts: Vec<Part>) {
        let is_stored = self.sealed >= self.total();
        match self.shown.last_mut() {
            Some(turn) if turn.role == role && !is_stored => turn.parts.extend(parts),
            _ => self.shown.push(Turn { role, parts }),
        }
    }

    /// Marks all turns as stored.
    pub(crate) fn seal(&mut self) {
        self.sealed = self.total();
    }

    /// Returns how many turns a summary would replace, or `None` if the call is not worth it.
    ///
    /// Always keeps the newest calls, their results and all later turns.
    pub(crate) fn cut(&self, limit: u64) -> Option<usize> {
        let head = self.head();
        let newest = self.newest_cut(head);
        let mut kept = estimate::estimate_turns(&self.shown[newest..]);
        let mut cut = newest;
        for (index, turn) in self.shown.iter().enumerate().take(newest).skip(head).rev() {
            kept += estimate::turn(turn);
            if kept > share(limit, KEEP_PERCENT) {
                break;
            }
            if turn.role == Role::Assistant {
                cut = index;
            }
        }
        let request = self.shown[..head].last().map_or(0, estimate::turn);
        let gain = estimate::estimate_turns(&self.shown[..cut]).saturating_sub(request);
        (gain > 0 && gain >= share(limit, GAIN_PERCENT)).then_some(cut)
    }

    /// Returns the last possible start for the kept turns: the newest calls, or the turn after the
    /// request.
    fn newest_cut(&self, head: usize) -> usize {
        let calls = |turn: &Turn| {
            turn.parts
                .iter()
                .any(|part| matches!(part, Part::ToolCall { .. }))
        };
        let newest = self
            .shown
            .iter()
            .rposition(|turn| turn.role == Role::Assistant && calls(turn));
        newest.map_or(head, |index| index.max(head))
    }

    /// Returns the turns before a cut, with a request to summarize them.
    pub(crate) fn to_sum_up(&self, cut: usize, request: &str) -> Vec<Turn> {
        let mut turns = self.shown[..cut].to_vec();
        turns.push(Turn::text(Role::User, request));
        turns
    }

    /// Replaces the turns before the cut, except the request, by a summary; returns their number.
    /// A summary that is too long keeps both ends: it begins with the request and ends with the next steps.
    pub(crate) fn replace(&mut self, cut: usize, summary: &str, limit: u64) -> usize {
        let head = self.head();
        let Some(mut request) = self.shown[..head].last().cloned() else {
            return 0;
        };
        if let Some(old) = &self.shape.summary {
            let old = framed(old);
            request.parts.retain(|part| *part != old);
        }
        let summary = oversize::both_ends(summary, summary_chars(limit)).into_owned();
        request.parts.push(framed(&summary));
        let called = called_tools(&self.shown[..cut]).map(str::to_owned);
        self.shape.summarized_tools.extend(called);
        let replaced = cut.saturating_sub(1);
        self.shape.kept_from += cut.saturating_sub(head) as u64;
        self.shape.from = self.shape.request;
        let (request_at, kept_from) = (self.shape.request, self.shape.kept_from);
        self.shape
            .files_left_out
            .retain(|at| *at == request_at || *at >= kept_from);
        self.shape.summary = Some(summary);
        self.shown.splice(..cut, [request]);
        replaced
    }

    /// Drops the oldest outputs, then earlier thread turns, until the estimate is at most `target`.
    /// Stops when no more can be dropped. Returns how many outputs and turns were dropped.
    pub(crate) fn trim(&mut self, target: u64) -> usize {
        let mut size = estimate::estimate_turns(&self.shown);
        let head = self.head();
        let mut dropped = 0;
        for (index, turn) in self.shown.iter_mut().enumerate().skip(head) {
            if size <= target {
                return dropped;
            }
            let before = estimate::turn(turn);
            let outputs = trim::drop_outputs(turn);
            if outputs > 0 {
                size = size.saturating_sub(before) + estimate::turn(turn);
                dropped += outputs;
                self.shape.trimmed_to = self.shape.kept_from + (index - head) as u64 + 1;
            }
        }
        dropped + self.trim_history(size, target)
    }

    /// Leaves out the images and documents in the newest `turns` that have any. Returns how many.
    ///
    /// The model's API accepted earlier files before.
    pub(crate) fn leave_out_files(&mut self, mut turns: usize) -> usize {
        let head = self.head();
        let mut total = 0;
        for (index, turn) in self.shown.iter_mut().enumerate().rev() {
            if turns == 0 {
                break;
            }
            let left_out = trim::leave_out_files(turn);
            if left_out > 0 {
                let (first, offset) = if index < head {
                    (self.shape.from, index)
                } else {
                    (self.shape.kept_from, index - head)
                };
                self.shape.files_left_out.insert(first + offset as u64);
                total += left_out;
                turns -= 1;
            }
        }
        total
    }

    /// Drops earlier thread turns. Vendors require a conversation to begin with a user turn.
    fn trim_history(&mut self, mut size: u64, target: u64) -> usize {
        let history = self.head().saturating_sub(1);
        let begins_well = |turn: &Turn| turn.role == Role::User;
        let mut count = 0;
        while count < history && (size > target || (count > 0 && !begins_well(&self.shown[count])))
        {
            size = size.saturating_sub(estimate::turn(&self.shown[count]));
            count += 1;
        }
        self.shown.drain(..count);
        self.shape.from += count as u64;
        count
    }
}

/// Iterates over the called tools' names.
fn called_tools(turns: &[Turn]) -> impl Iterator<Item = &str> {
    turns
        .iter()
        .flat_map(|turn| &turn.parts)
        .filter_map(|part| match part {
            Part::ToolCall { name, .. } => Some(name.as_str()),
            Part::Text { .. }
            | Part::ToolResult { .. }
            | Part::Image { .. }
            | Part::Document { .. }
            | Part::Opaque { .. } => None,
        })
}

/// Frames a summary for the model.
fn framed(summary: &str) -> Part {
    Part::text(format!(
        "[Note from the service: earlier turns of this conversation were replaced by this summary of them.]\n\n{summary}"
    ))
}

/// How many characters a summary may have in a window with this limit.
pub(crate) fn summary_chars(limit: u64) -> usize {
    usize::try_from(SUMMARY_CHARS.min(share(limit, SUMMARY_CHARS_PERCENT))).unwrap_or(0)
}

const fn share(limit: u64, percent: u64) -> u64 {
    limit.saturating_mul(percent) / 100
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
