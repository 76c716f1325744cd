//! The driver of one run: it performs the loop's actions and feeds back what came of them.

use std::{sync::Arc, time::Duration};

use ars_agent::{Action, Budget, Ending, Input, Loop, ModelTurn, Turn, Usage};
use ars_types::{Effort, ModelRef, RunStatus};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    spans::{Span, Spans},
    toolbox::Toolbox,
};
use crate::{
    agents::AgentSpec,
    ports::{ChannelIo, Clock, ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, Workspace},
    registry::RunHandle,
};

/// Everything one run works with.
pub struct Driver<'a> {
    /// Where it publishes.
    pub run: &'a RunHandle,
    /// Its spans.
    pub spans: &'a Spans,
    /// The span of the whole agent run.
    pub root: &'a Span,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The agent.
    pub agent: &'static AgentSpec,
    /// What the run may spend.
    pub budget: Budget,
    /// The model's name.
    pub model: &'a ModelRef,
    /// The model.
    pub client: &'a dyn ModelClient,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// The system prompt.
    pub system: &'a str,
    /// The tools it may call.
    pub tools: &'a Toolbox,
    /// Where they act.
    pub workspace: Option<Arc<dyn Workspace>>,
    /// Where short words on progress go.
    pub io: &'a dyn ChannelIo,
    /// Cleans what the run says before it is capped.
    pub redactor: &'a ars_events::Redactor,
}

/// What a finished run leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Driven {
    /// How it ended.
    pub ending: Ending,
    /// Model calls answered.
    pub steps: u32,
    /// Tokens used.
    pub usage: Usage,
}

impl Driver<'_> {
    /// Runs the agent on this conversation to its end.
    pub async fn run(&self, conversation: Vec<Turn>) -> Driven {
        let stops = self.run.stops();
        let mut agent_loop = Loop::new(self.budget, conversation, self.clock.now());
        let mut soft_stop_told = false;
        let mut input = Input::Start;
        loop {
            if stops.hard.is_cancelled() {
                input = Input::HardStop;
            } else if stops.soft.is_cancelled() && !soft_stop_told {
                soft_stop_told = true;
                agent_loop.step(Input::SoftStop, self.clock.now());
            }
            let mut next = None;
            for action in agent_loop.step(input, self.clock.now()) {
                match action {
                    Action::Publish(event) => self.run.publish(event),
                    Action::Finish(ending) => {
                        return Driven { ending, steps: agent_loop.steps(), usage: agent_loop.usage() };
                    }
                    waits => next = Some(waits),
                }
            }
            input = match next {
                Some(Action::CallModel { may_call_tools, limit_ms }) => {
                    self.call_model(agent_loop.turns(), may_call_tools, limit_ms, &stops.hard).await
                }
                Some(Action::RunTools(calls)) => {
                    let remaining = millis(agent_loop.remaining_ms(self.clock.now()));
                    Input::Tools(self.run_tools(calls, remaining, &stops.hard).await)
                }
                // The loop always says what to wait for; were it not to, the run must not hang.
                _ => Input::HardStop,
            };
        }
    }

    async fn call_model(
        &self,
        turns: &[Turn],
        may_call_tools: bool,
        limit_ms: i64,
        hard_stop: &CancellationToken,
    ) -> Input {
        let span = self.spans.start(self.run, Some(self.root.id()), "model.turn", self.clock.now());
        let request = ModelRequest {
            model: self.model.model(),
            system: self.system,
            tools: self.tools.specs(),
            may_call_tools,
            turns,
            max_tokens: self.agent.max_output_tokens,
            effort: self.effort,
        };
        let io = self.io;
        let on_delta = move |delta: ModelDelta| {
            if let ModelDelta::Retrying { attempt, wait } = delta {
                io.status(&format!(
                    "the model is busy: attempt {attempt} failed, next in {} s",
                    wait.as_secs()
                ));
            }
        };
        let call = self.client.turn(request, &on_delta, hard_stop);
        let answer = tokio::time::timeout(millis(limit_ms), call).await;
        let now = self.clock.now();
        match answer {
            Ok(Ok(turn)) => {
                self.spans.end(self.run, span, None, Some(self.model_attrs(&turn)), now);
                Input::Model(turn)
            }
            Ok(Err(error)) => {
                self.spans.end(self.run, span, Some(error.kind.to_string()), None, now);
                tracing::warn!(run = %self.run.id(), model = %self.model, error = %error, "model call failed");
                Input::ModelFailed(self.failure_text(&error))
            }
            Err(_elapsed) => {
                self.spans.end(self.run, span, Some("timeout".into()), None, now);
                Input::ModelTimedOut
            }
        }
    }

    fn model_attrs(&self, turn: &ModelTurn) -> Map<String, Value> {
        let mut attrs = Map::new();
        attrs.insert("model".into(), json!(self.model));
        attrs.insert("stopReason".into(), json!(turn.stop.as_str()));
        attrs.insert("usage".into(), json!(turn.usage));
        attrs
    }

    /// What the requester is told: the kind in plain words, then the provider's own message.
    fn failure_text(&self, error: &ModelError) -> String {
        let what = match &error.kind {
            ModelErrorKind::Overloaded { .. } => "is overloaded and did not recover in time",
            ModelErrorKind::RateLimited { .. } => "refused further requests for now (rate limit)",
            ModelErrorKind::Unauthorized => "refused the configured credentials",
            ModelErrorKind::Invalid => "refused the request",
            ModelErrorKind::ContextTooLong => "cannot hold this conversation: it is too long",
            ModelErrorKind::Unreachable => "could not be reached",
            ModelErrorKind::Protocol => "broke off its answer",
            ModelErrorKind::Cancelled => "was told to stop",
        };
        format!("❌ The model {} {what}. {}", self.model, error.message)
    }
}

/// How a run that threw is reported.
pub fn thrown() -> Driven {
    let answer = "❌ The run failed because of an internal error.".to_owned();
    Driven {
        ending: Ending { status: RunStatus::Failed, answer: Some(answer) },
        steps: 0,
        usage: Usage::default(),
    }
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
