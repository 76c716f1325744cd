//! Makes the conversation acceptable to the model: sums up turns, drops outputs, leaves out files.

use ars_events::{EventBody, NoteKind};
use ars_types::{RunStatus, UnixMillis};

use super::{
    Loop,
    compacting::Compacting,
    protocol::{Action, Purpose},
    words::{calls, prose},
};
use crate::{
    budget::CLOSING_CALL_MS,
    context::{Measure, estimate_turns, summary_chars},
    message::{ModelTurn, StopReason},
};

/// Time limit for a summary, which is a single short answer like the closing call.
const SUMMARY_CALL_MS: i64 = 3 * 60_000;
/// Size to which outputs are dropped, in percent of the limit, or of the current size if the model
/// rejected that. A higher share would drop outputs at every step, and lose the provider's prompt
/// cache each time.
const TRIM_PERCENT: u64 = 75;
/// Consecutive rejections as too long that are answered by dropping outputs. The next ends the run.
const MAX_TOO_LONG: u32 = 3;
/// The consecutive rejection for a file at which all files are left out.
const FILES_REJECTED: u32 = 3;
/// Model calls after a failed summary before the next attempt, which sends the whole conversation.
const SUMMARY_AGAIN_AFTER: u32 = 8;

impl Loop {
    /// Returns the best token estimate for the conversation.
    pub(super) fn size(&self) -> u64 {
        self.size_of(estimate_turns(self.conversation.shown()))
    }

    /// Corrects a raw token estimate by the provider's last count, or else by the fixed tokens.
    pub(super) fn size_of(&self, estimated: u64) -> u64 {
        match (self.saved.measure, self.saved.limits.context) {
            (Some(measure), _) => measure.size(estimated),
            (None, Some(limit)) => estimated.saturating_add(limit.fixed_tokens),
            (None, None) => estimated,
        }
    }

    /// Returns the next model call. Above the limit a summary comes first, or outputs are dropped.
    pub(super) fn ask(&mut self, now: UnixMillis) -> Vec<Action> {
        let remaining = self.remaining_ms(now);
        if let Some((cut, most_chars)) = self.worth_compacting() {
            let turns = self.conversation.to_sum_up(cut, &sum_up(most_chars));
            self.compacting = Some(Compacting { turns, cut });
            return vec![self.call(Purpose::Compact, SUMMARY_CALL_MS.min(remaining))];
        }
        let mut actions: Vec<_> = self.trim_to_fit().into_iter().collect();
        actions.push(self.call(Purpose::Answer, remaining));
        actions
    }

    /// Returns the number of turns that a summary would replace, and the summary's length limit.
    fn worth_compacting(&self) -> Option<(usize, usize)> {
        if self.iterations < self.saved.summary_not_before {
            return None;
        }
        let limit = self.saved.limits.context?.tokens();
        if self.size() <= limit || !self.affords_summary() {
            return None;
        }
        Some((self.conversation.cut(limit)?, summary_chars(limit)))
    }

    /// Applies a summary and continues.
    ///
    /// Only a complete answer without tool calls counts: any other would lose the replaced turns.
    pub(super) fn summed_up(&mut self, turn: &ModelTurn, now: UnixMillis) -> Vec<Action> {
        let is_whole = turn.stop == StopReason::EndTurn && calls(&turn.parts).is_empty();
        let summary = prose(&turn.parts);
        let (Some(compacting), Some(limit)) = (self.compacting.take(), self.saved.limits.context)
        else {
            return self.boundary(now);
        };
        if summary.is_empty() || !is_whole {
            return self.not_summed_up(now);
        }
        let replaced = self
            .conversation
            .replace(compacting.cut, &summary, limit.tokens());
        let mut actions = vec![compacted(format!(
            "{replaced} earlier turns were replaced by a summary"
        ))];
        actions.extend(self.boundary(now));
        actions
    }

    /// Continues without a summary: drops outputs, and puts off the next attempt.
    pub(super) fn not_summed_up(&mut self, now: UnixMillis) -> Vec<Action> {
        self.compacting = None;
        self.saved.summary_not_before = self.iterations.saturating_add(SUMMARY_AGAIN_AFTER);
        let mut actions: Vec<_> = self.trim_to_fit().into_iter().collect();
        if let Some(why) = self.must_close(now) {
            actions.extend(self.close(why));
            return actions;
        }
        // New messages wait for the next boundary. Added here, they could trigger another summary.
        actions.push(self.call(Purpose::Answer, self.remaining_ms(now)));
        actions
    }

    /// Drops outputs if the conversation is over the limit, and publishes a note if there were any.
    pub(super) fn trim_to_fit(&mut self) -> Option<Action> {
        let limit = self.saved.limits.context?.tokens();
        if self.size() <= limit {
            None
        } else {
            self.trim_to(limit.saturating_mul(TRIM_PERCENT) / 100)
        }
    }

    fn trim_to(&mut self, target: u64) -> Option<Action> {
        // `trim` compares raw estimates, so the excess is subtracted from the raw estimate.
        let estimated = estimate_turns(self.conversation.shown());
        let over = self.size().saturating_sub(target);
        let dropped = self.conversation.trim(estimated.saturating_sub(over));
        (dropped > 0).then(|| {
            compacted(format!(
                "{dropped} earlier outputs or messages were dropped to fit the model's window"
            ))
        })
    }

    /// Shortens a conversation that the model rejected as too long, or ends the run.
    pub(super) fn too_long(&mut self, reason: String, now: UnixMillis) -> Vec<Action> {
        if self.purpose == Purpose::Compact {
            return self.not_summed_up(now);
        }
        self.too_long += 1;
        let closing = self.saved.closing.clone();
        if closing.is_none()
            && let Some(why) = self.must_close(now)
        {
            return self.close(why);
        }
        let target = self.size().saturating_mul(TRIM_PERCENT) / 100;
        let dropped = if self.too_long <= MAX_TOO_LONG {
            self.trim_to(target)
        } else {
            None
        };
        match (dropped, closing) {
            (Some(note), Some(_)) => vec![note, self.call(Purpose::Close, CLOSING_CALL_MS)],
            (Some(note), None) => vec![note, self.call(Purpose::Answer, self.remaining_ms(now))],
            // Files can be the reason although little text is left.
            (None, closing) => match (self.without_files(usize::MAX, &reason, now), closing) {
                (Some(again), _) => again,
                (None, Some(why)) => self.finish_closing(&why, ""),
                (None, None) => self.finish(RunStatus::Failed, Some(reason)),
            },
        }
    }

    /// Repeats a call that was rejected for a file, without the newest files, and finally without
    /// any.
    pub(super) fn file_rejected(&mut self, reason: String, now: UnixMillis) -> Vec<Action> {
        if self.purpose == Purpose::Compact {
            return self.not_summed_up(now);
        }
        self.files_rejected += 1;
        let turns = if self.files_rejected < FILES_REJECTED {
            1
        } else {
            usize::MAX
        };
        self.without_files(turns, &reason, now)
            .unwrap_or_else(|| self.model_failed(Some(reason), now))
    }

    /// Calls again without the files of the newest turns that have some, or returns `None` when no
    /// turn has.
    fn without_files(
        &mut self,
        turns: usize,
        reason: &str,
        now: UnixMillis,
    ) -> Option<Vec<Action>> {
        let left_out = self.conversation.leave_out_files(turns);
        if left_out == 0 {
            return None;
        }
        let mut actions = vec![compacted(format!(
            "{left_out} file(s) were left out: {reason}"
        ))];
        match (self.saved.closing.is_some(), self.must_close(now)) {
            (true, _) => actions.push(self.call(Purpose::Close, CLOSING_CALL_MS)),
            (false, Some(why)) => actions.extend(self.close(why)),
            (false, None) => actions.push(self.call(Purpose::Answer, self.remaining_ms(now))),
        }
        Some(actions)
    }

    /// Returns a model call, and notes its purpose and the request's estimated size.
    pub(super) fn call(&mut self, purpose: Purpose, limit_ms: i64) -> Action {
        self.purpose = purpose;
        self.sent = estimate_turns(self.turns());
        Action::CallModel { purpose, limit_ms }
    }

    /// Corrects later estimates by the provider's count for this call.
    pub(super) fn measure(&mut self, turn: &ModelTurn) {
        if let Some(measure) = Measure::from_usage(turn.usage, self.sent) {
            self.saved.measure = Some(measure);
        }
    }
}

/// The instruction for a summary.
fn sum_up(most_chars: usize) -> String {
    format!(
        "Note from the service: this conversation is about to outgrow your window, and everything before this line \
         except the request itself will be replaced by your next answer. Write everything you need to continue, in at \
         most {most_chars} characters: the requester's request and additions, word for word where wording matters; \
         decisions with their reasons; findings (names of files, commands, exact errors, numbers); changes; and at the \
         end the remaining work and the next step. Call no tool, and write nothing else."
    )
}

fn compacted(summary: String) -> Action {
    Action::Publish(EventBody::note(NoteKind::Compacted, summary))
}
