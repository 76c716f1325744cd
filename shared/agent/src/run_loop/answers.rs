//! Handles the model's answers and the tools' results.
//!
//! Not here: the boundary between two steps (`run_loop.rs`).

use ars_events::{EventBody, NoteKind};
use ars_types::{RunStatus, UnixMillis};

use super::{
    Loop,
    closing::Closing,
    protocol::{Action, Purpose, Sandbox, ToolCall, ToolOutcome},
    saved::Infra,
    steering::Arrived,
    words::{calls, final_answer, first_line, last_words, prose},
};
use crate::message::{ModelTurn, Part, StopReason};

/// The tool that uses up no turn in a step without other calls.
const STATUS_TOOL: &str = "update_status";

impl Loop {
    /// Without a reason, the call timed out.
    pub(super) fn model_failed(&mut self, reason: Option<String>, now: UnixMillis) -> Vec<Action> {
        if self.purpose == Purpose::Compact {
            return self.not_summed_up(now);
        }
        match (self.saved.closing.clone(), reason) {
            (Some(why), _) => self.finish_closing(&why, ""),
            (None, Some(reason)) => self.finish(RunStatus::Failed, Some(reason)),
            (None, None) => self.close(Closing::Time),
        }
    }

    pub(super) fn model_answered(&mut self, turn: ModelTurn, now: UnixMillis) -> Vec<Action> {
        self.spend(turn.usage);
        self.too_long = 0;
        self.files_rejected = 0;
        if self.purpose == Purpose::Compact {
            return self.summed_up(&turn, now);
        }
        self.iterations += 1;
        self.measure(&turn);
        if let Some(why) = self.saved.closing.clone() {
            return self.finish_closing(&why, &last_words(prose(&turn.parts), &turn.stop));
        }
        let calls = calls(&turn.parts);
        match turn.stop {
            _ if !calls.is_empty() => self.run(turn.parts, calls),
            StopReason::PauseTurn => self.continue_paused(turn.parts, now),
            _ => self.answered(turn, now),
        }
    }

    fn run(&mut self, parts: Vec<Part>, calls: Vec<ToolCall>) -> Vec<Action> {
        self.steps += 1;
        if calls.iter().any(|call| call.name != STATUS_TOOL) {
            self.turns_used += 1;
        }
        let prose = prose(&parts);
        self.conversation.answer(parts);
        self.conversation.seal();
        let mut actions = Vec::with_capacity(2);
        if !prose.is_empty() {
            actions.push(Action::Publish(EventBody::Assistant { text: prose }));
        }
        actions.push(Action::RunTools(calls));
        actions
    }

    /// Continues a paused turn. It cannot be added to, so it is no step boundary.
    fn continue_paused(&mut self, parts: Vec<Part>, now: UnixMillis) -> Vec<Action> {
        self.turns_used += 1;
        self.conversation.answer(parts);
        match self.must_close(now) {
            Some(why) => self.close(why),
            None => vec![self.call(Purpose::Answer, self.remaining_ms(now))],
        }
    }

    /// Ends with the final answer, unless messages wait and another step is allowed.
    fn answered(&mut self, turn: ModelTurn, now: UnixMillis) -> Vec<Action> {
        let prose = prose(&turn.parts);
        self.turns_used += 1;
        self.steps += 1;
        self.conversation.answer(turn.parts);
        if self.saved.soft_stop {
            return self.finish_stopped(&last_words(prose, &turn.stop));
        }
        if self.inbox.waiting().is_empty() || self.must_close(now).is_some() {
            return self.finish(RunStatus::Completed, Some(final_answer(prose, &turn.stop)));
        }
        let mut actions = Vec::new();
        if !prose.is_empty() {
            let text = final_answer(prose, &turn.stop);
            actions.push(Action::Publish(EventBody::Assistant { text }));
        }
        actions.extend(self.start_step(Arrived::WhileAnswering, now));
        actions
    }

    pub(super) fn tools_answered(
        &mut self,
        outcomes: Vec<ToolOutcome>,
        now: UnixMillis,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        for outcome in &outcomes {
            let infra = &mut self.saved.infra;
            match outcome.sandbox {
                Sandbox::Untouched => {}
                Sandbox::Works => *infra = Infra::default(),
                Sandbox::Failed => {
                    *infra = Infra {
                        streak: infra.streak + 1,
                        last_error: first_line(&outcome.content),
                    };
                }
                Sandbox::Busy => {
                    let summary = "no sandbox was free; the run continues without it";
                    actions.push(Action::Publish(EventBody::note(
                        NoteKind::FleetBusy,
                        summary,
                    )));
                }
            }
        }
        let parts = outcomes.into_iter().map(|outcome| Part::ToolResult {
            call_id: outcome.call_id,
            ok: outcome.ok,
            content: outcome.content,
        });
        self.conversation.results(parts.collect());
        actions.extend(self.boundary(now));
        actions
    }
}
