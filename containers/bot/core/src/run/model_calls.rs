//! Calling the model: once per step, on the fallback when the run's own model stays overloaded.

use std::time::Duration;

use ars_agent::{Input, ModelTurn, Purpose};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    assignment::{Assignment, Voice},
    driver::{Course, Driver, Next, millis},
};
use crate::{
    metrics::{self, Outcome},
    ports::{ModelDelta, ModelError, ModelErrorKind, ModelRequest},
};

/// How long a model may be overloaded before the fallback is asked.
const OVERLOAD_PATIENCE: Duration = Duration::from_secs(30);

/// Between two calls of an overloaded model; the client has waited between its own attempts.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

impl Driver<'_> {
    /// Asks the model within the time allowed, unless the run is to be left to another process meanwhile.
    pub(super) async fn call_model(&self, course: &mut Course, purpose: Purpose, limit_ms: i64) -> Next {
        let leave = async {
            match self.tracked {
                Some(_) => self.hand_off.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            biased;
            () = leave => return Next::HandOff,
            answer = tokio::time::timeout(millis(limit_ms), self.patiently(course, purpose)) => answer,
        };
        Next::Feed(match answer {
            Ok(Ok(turn)) => Input::Model(turn),
            Ok(Err(error)) => {
                let words = failure_text(&course.voice, &error);
                match error.kind {
                    ModelErrorKind::ContextTooLong => Input::ContextTooLong(words),
                    _ => Input::ModelFailed(words),
                }
            }
            Err(_elapsed) => Input::ModelTimedOut,
        })
    }

    /// Asks again while the model is overloaded, as long as there is a fallback to turn to; then turns to it.
    async fn patiently(&self, course: &mut Course, purpose: Purpose) -> Result<ModelTurn, ModelError> {
        let began = Instant::now();
        loop {
            let error = match self.ask(course, purpose).await {
                Ok(turn) => return Ok(turn),
                Err(error) => error,
            };
            let is_overload =
                matches!(error.kind, ModelErrorKind::Overloaded { .. } | ModelErrorKind::RateLimited { .. });
            let fallback = self.assignment.fallback.as_ref().filter(|other| other.name != course.voice.name);
            let Some(fallback) = fallback.filter(|_| is_overload) else { return Err(error) };
            if began.elapsed() < OVERLOAD_PATIENCE {
                tokio::time::sleep(AGAIN_AFTER).await;
                continue;
            }
            let limits = self.assignment.fallback_limits;
            if !course.agent_loop.switch_model(limits.price, limits.context) {
                return Err(error);
            }
            tracing::warn!(run = %self.run.id(), model = %course.voice.name, fallback = %fallback.name, "model overloaded");
            self.io.status(&format!("{} is overloaded: asking {}", course.voice.name, fallback.name));
            course.voice = fallback.clone();
        }
    }

    /// One call, with its span.
    async fn ask(&self, course: &Course, purpose: Purpose) -> Result<ModelTurn, ModelError> {
        let Assignment { system, tools, agent, effort, .. } = self.assignment;
        let Voice { name, client } = &course.voice;
        let span = self.spans.open(self.run, Some(&self.root), "model.turn", self.clock);
        let request = ModelRequest {
            model: name.model(),
            system,
            tools: tools.specs(),
            may_call_tools: purpose.may_call_tools(),
            turns: course.agent_loop.turns(),
            max_tokens: agent.max_output_tokens,
            effort: *effort,
        };
        let io = self.io;
        let on_delta = move |delta: ModelDelta| {
            if let ModelDelta::Retrying { attempt, wait } = delta {
                let words =
                    format!("the model is busy: attempt {attempt} failed, next in {} s", wait.as_secs());
                io.status(&words);
            }
        };
        let began = Instant::now();
        let answer = client.turn(request, &on_delta, &course.stops.hard).await;
        metrics::model_turn(name.provider(), Outcome::of(&answer), began.elapsed());
        if let Ok(turn) = &answer {
            let price = self.assignment.price_of(name);
            metrics::model_usage(name.provider(), turn.usage, price.map(|price| price.cost(turn.usage)));
        }
        match &answer {
            Ok(turn) => span.end(None, Some(attrs(name.to_string(), purpose, turn))),
            Err(error) => {
                span.end(Some(error.kind.to_string()), None);
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

/// What the requester is told: the kind in plain words, then the provider's own message.
fn failure_text(voice: &Voice, error: &ModelError) -> String {
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
    format!("❌ The model {} {what}. {}", voice.name, error.message)
}
