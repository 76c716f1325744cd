//! Calls the model once per step, and the fallback when the run's own model stays overloaded.

use std::time::Duration;

use ars_agent::{Input, ModelTurn, Purpose, Usage};
use ars_bot_ports::{
    ModelDelta, ModelError, ModelErrorKind, ModelRequest,
    metrics::{self, Outcome},
    texts,
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    assignment::{Assignment, BoundModel},
    call_watch::{CallWatch, Owed},
    driver::{DriveState, Driver, Next, millis},
    prepared::PreparedRun,
    spans::SpanResult,
};
use crate::{
    live::{StepDurability, Stepped, TrackedRun},
    registry::MODEL_TURN,
};

/// How long a model may be overloaded before the fallback is called.
const OVERLOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Wait between two calls to an overloaded model, behind the client's own waits.
const OVERLOAD_BACKOFF: Duration = Duration::from_secs(2);

impl Driver<'_> {
    /// Calls the model within the time limit, unless the run is handed off first.
    pub(super) async fn call_model(
        &self,
        state: &mut DriveState,
        purpose: Purpose,
        limit_ms: i64,
    ) -> Next {
        let until = Instant::now() + millis(limit_ms);
        let answer = loop {
            let call = CallWatch::default();
            let answer = tokio::select! {
                biased;
                () = self.handoff_requested() => None,
                answer = tokio::time::timeout_at(until, self.with_overload_fallback(state, purpose, &call)) => Some(answer),
            };
            self.pay(state, &call);
            let Some(answer) = answer else {
                match self.store(state, &[], StepDurability::Required).await {
                    // The step was just refused, so the run cannot be handed off, and the model is called here.
                    Stepped::Stored if !self.is_resumable() => continue,
                    Stepped::Stored => return Next::HandOff,
                    // Fenced out or stopped.
                    Stepped::NotStored | Stepped::Fenced => return Next::Feed(Input::HardStop),
                }
            };
            break answer;
        };
        Next::Feed(match answer {
            Ok(Ok(turn)) => Input::Model(turn),
            Ok(Err(error)) => {
                let words = texts::model_failure(&state.model.name, &error);
                match error.kind {
                    ModelErrorKind::ContextTooLong => Input::ContextTooLong(words),
                    ModelErrorKind::FileRejected => Input::FileRejected(words),
                    _ => Input::ModelFailed(words),
                }
            }
            Err(_elapsed) => Input::ModelTimedOut,
        })
    }

    /// Completes when the process shuts down and another can resume the run.
    /// Any other run holds the shutdown.
    async fn handoff_requested(&self) {
        if self.is_resumable() {
            self.hand_off.cancelled().await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    fn is_resumable(&self) -> bool {
        self.tracked.is_some_and(TrackedRun::is_resumable)
    }

    /// Charges usage without a response: broken attempts, and the attempt that is cut off now.
    /// Without a report the sent tokens are estimated, so that the run never costs more than is
    /// counted.
    fn pay(&self, state: &mut DriveState, call: &CallWatch) {
        let cut_off = match call.cut_off() {
            Owed::Nothing => Usage::default(),
            Owed::Reported(usage) => usage,
            Owed::Unknown => state.agent_loop.sent_usage(),
        };
        let name = &state.model.name;
        for usage in [call.take_broken(), cut_off]
            .into_iter()
            .filter(|usage| *usage != Usage::default())
        {
            let price = self.prepared.spec.price_of(name);
            metrics::model_usage(name.provider(), usage, price.map(|price| price.cost(usage)));
            state.agent_loop.charge(usage);
        }
    }

    /// Repeats the call while the model is overloaded and has a fallback, then switches to the fallback.
    /// The client may still be backing off then.
    async fn with_overload_fallback(
        &self,
        state: &mut DriveState,
        purpose: Purpose,
        call: &CallWatch,
    ) -> Result<ModelTurn, ModelError> {
        loop {
            let Some(fallback) = self.fallback(state) else {
                return self.ask(state, purpose, call).await;
            };
            let answer = tokio::select! {
                biased;
                answer = self.ask(state, purpose, call) => Some(answer),
                () = call.overloaded_for(OVERLOAD_TIMEOUT) => None,
            };
            match answer {
                Some(Err(error))
                    if error.kind.is_overload() && !call.is_overloaded_for(OVERLOAD_TIMEOUT) =>
                {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep(OVERLOAD_BACKOFF) => continue,
                        () = state.stops.hard.cancelled() => return Err(error),
                    }
                }
                Some(Err(error)) if error.kind.is_overload() => {}
                Some(answer) => return answer,
                None => {}
            }
            self.pay(state, call);
            self.switch_to_fallback(state, fallback);
        }
    }

    /// Returns the fallback, unless it is the current model or the price is unknown under a cap.
    fn fallback(&self, state: &DriveState) -> Option<BoundModel> {
        let price = self.prepared.spec.fallback_limits.price;
        let fallback = self
            .prepared
            .spec
            .fallback
            .as_ref()
            .filter(|other| other.name != state.model.name)?;
        state
            .agent_loop
            .allows_price(price)
            .then(|| fallback.clone())
    }

    fn switch_to_fallback(&self, state: &mut DriveState, fallback: BoundModel) {
        let limits = self.prepared.full_fallback_limits();
        // Only a missing price is refused, and `fallback` has checked that.
        let _ = state.agent_loop.switch_model(limits.price, limits.context);
        tracing::warn!(run = %self.run.id(), model = %state.model.name, fallback = %fallback.name, "model overloaded");
        self.io.show_status(format!(
            "{} is overloaded: asking {}",
            state.model.name, fallback.name
        ));
        state.model = fallback;
    }

    /// Makes a single call within a span.
    async fn ask(
        &self,
        state: &DriveState,
        purpose: Purpose,
        call: &CallWatch,
    ) -> Result<ModelTurn, ModelError> {
        let PreparedRun { spec, system, .. } = self.prepared;
        let Assignment {
            tools,
            max_tokens,
            effort,
            ..
        } = spec;
        let BoundModel { name, client } = &state.model;
        let span = self
            .spans
            .open(self.run, Some(&self.root), MODEL_TURN, self.clock);
        let request = ModelRequest {
            model: name.model(),
            system,
            tools: tools.specs(),
            may_call_tools: purpose.may_call_tools(),
            turns: state.agent_loop.turns(),
            max_tokens: *max_tokens,
            effort: *effort,
        };
        let io = self.io;
        let on_delta = move |delta: ModelDelta| {
            call.note(&delta);
            if let ModelDelta::Retrying {
                attempt,
                wait,
                cause,
            } = delta
            {
                let words = format!(
                    "the model {cause}: attempt {attempt} failed, next in {} s",
                    wait.as_secs()
                );
                io.show_status(words);
            }
        };
        let began = Instant::now();
        call.begin();
        let answer = client.turn(request, &on_delta, &state.stops.hard).await;
        metrics::model_turn(
            name.provider(),
            Outcome::from_result(&answer),
            began.elapsed(),
        );
        match &answer {
            Ok(turn) => {
                call.answered();
                let price = self.prepared.spec.price_of(name);
                metrics::model_usage(
                    name.provider(),
                    turn.usage,
                    price.map(|price| price.cost(turn.usage)),
                );
                span.end_with(SpanResult::OkWith(attrs(name.to_string(), purpose, turn)));
            }
            Err(error) => {
                call.failed(error);
                span.end_with(SpanResult::Failed(error.kind.to_string()));
                tracing::warn!(run = %self.run.id(), model = %name, error = %error, "model call failed");
            }
        }
        answer
    }
}

fn attrs(model: String, purpose: Purpose, turn: &ModelTurn) -> Map<String, Value> {
    let mut attrs = Map::new();
    attrs.insert("model".into(), model.into());
    if purpose != Purpose::Answer {
        attrs.insert("purpose".into(), json!(purpose.as_str()));
    }
    attrs.insert("stopReason".into(), json!(turn.stop.as_str()));
    attrs.insert("usage".into(), json!(turn.usage));
    attrs
}
