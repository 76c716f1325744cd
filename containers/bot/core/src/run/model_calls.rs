//! Calling the model: once per step, on the fallback when the run's own model stays overloaded.

use std::time::Duration;

use ars_agent::{Input, ModelTurn, Purpose, Usage};
use ars_bot_ports::{
    ModelDelta, ModelError, ModelErrorKind, ModelRequest,
    metrics::{self, Outcome},
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    assignment::{Assignment, Voice},
    call_watch::{CallWatch, Owed},
    driver::{Course, Driver, Next, millis},
    spans::MODEL_TURN,
};
use crate::live::{Stepped, Tracked};

/// How long a model may be overloaded before the fallback is asked.
const OVERLOAD_PATIENCE: Duration = Duration::from_secs(30);

/// Between two calls of an overloaded model; the client has waited between its own attempts.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

impl Driver<'_> {
    /// Asks the model within the time allowed, unless the run is to be left to another process meanwhile.
    pub(super) async fn call_model(&self, course: &mut Course, purpose: Purpose, limit_ms: i64) -> Next {
        let until = Instant::now() + millis(limit_ms);
        let answer = loop {
            let call = CallWatch::default();
            let answer = tokio::select! {
                biased;
                () = self.told_to_leave() => None,
                answer = tokio::time::timeout_at(until, self.patiently(course, purpose, &call)) => Some(answer),
            };
            self.pay(course, &call);
            let Some(answer) = answer else {
                match self.store(course, &[], true).await {
                    // What was refused just now can be left to nobody: it is asked here after all.
                    Stepped::Stored if !self.may_be_left() => continue,
                    Stepped::Stored => return Next::HandOff,
                    // Lost, or stopped meanwhile.
                    Stepped::NotStored | Stepped::Lost => return Next::Feed(Input::HardStop),
                }
            };
            break answer;
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

    /// Fires when the process is to end and another can go on with the run; else the run holds the drain.
    async fn told_to_leave(&self) {
        if self.may_be_left() { self.hand_off.cancelled().await } else { std::future::pending().await }
    }

    fn may_be_left(&self) -> bool {
        self.tracked.is_some_and(Tracked::is_resumable)
    }

    /// Counts what the provider takes money for without an answer: attempts that broke off, and the one that is cut off
    /// now. Where nothing was reported, what was sent is counted as estimated: rather too much than too little.
    fn pay(&self, course: &mut Course, call: &CallWatch) {
        let cut_off = match call.cut_off() {
            Owed::Nothing => Usage::default(),
            Owed::Reported(usage) => usage,
            Owed::Unknown => course.agent_loop.sent_usage(),
        };
        let name = &course.voice.name;
        for usage in [call.take_broken(), cut_off].into_iter().filter(|usage| *usage != Usage::default()) {
            let price = self.assignment.price_of(name);
            metrics::model_usage(name.provider(), usage, price.map(|price| price.cost(usage)));
            course.agent_loop.charge(usage);
        }
    }

    /// Asks again while the model is overloaded, as long as there is a fallback to turn to; then turns to it, whatever
    /// the client still waits for.
    async fn patiently(
        &self,
        course: &mut Course,
        purpose: Purpose,
        call: &CallWatch,
    ) -> Result<ModelTurn, ModelError> {
        loop {
            let Some(fallback) = self.fallback(course) else { return self.ask(course, purpose, call).await };
            let answer = tokio::select! {
                biased;
                answer = self.ask(course, purpose, call) => Some(answer),
                () = call.overloaded_for(OVERLOAD_PATIENCE) => None,
            };
            match answer {
                Some(Err(error))
                    if error.kind.is_overload() && !call.is_overloaded_for(OVERLOAD_PATIENCE) =>
                {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep(AGAIN_AFTER) => continue,
                        () = course.stops.hard.cancelled() => return Err(error),
                    }
                }
                Some(Err(error)) if error.kind.is_overload() => {}
                Some(answer) => return answer,
                None => {}
            }
            self.pay(course, call);
            self.turn_to(course, fallback);
        }
    }

    /// The model to turn to, unless it is the one that is asked already or the money for it cannot be counted.
    fn fallback(&self, course: &Course) -> Option<Voice> {
        let price = self.assignment.fallback_limits.price;
        let fallback = self.assignment.fallback.as_ref().filter(|other| other.name != course.voice.name)?;
        course.agent_loop.allows_price(price).then(|| fallback.clone())
    }

    fn turn_to(&self, course: &mut Course, fallback: Voice) {
        let limits = self.assignment.full_fallback_limits();
        // Only a price that is missing could be refused, and `fallback` has asked for that.
        let _ = course.agent_loop.switch_model(limits.price, limits.context);
        tracing::warn!(run = %self.run.id(), model = %course.voice.name, fallback = %fallback.name, "model overloaded");
        self.io.status(&format!("{} is overloaded: asking {}", course.voice.name, fallback.name));
        course.voice = fallback;
    }

    /// One call, with its span.
    async fn ask(
        &self,
        course: &Course,
        purpose: Purpose,
        call: &CallWatch,
    ) -> Result<ModelTurn, ModelError> {
        let Assignment { system, tools, agent, effort, .. } = self.assignment;
        let Voice { name, client } = &course.voice;
        let span = self.spans.open(self.run, Some(&self.root), MODEL_TURN, self.clock);
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
            call.note(&delta);
            if let ModelDelta::Retrying { attempt, wait, cause } = delta {
                let words =
                    format!("the model {cause}: attempt {attempt} failed, next in {} s", wait.as_secs());
                io.status(&words);
            }
        };
        let began = Instant::now();
        call.begin();
        let answer = client.turn(request, &on_delta, &course.stops.hard).await;
        metrics::model_turn(name.provider(), Outcome::of(&answer), began.elapsed());
        match &answer {
            Ok(turn) => {
                call.answered();
                let price = self.assignment.price_of(name);
                metrics::model_usage(name.provider(), turn.usage, price.map(|price| price.cost(turn.usage)));
                span.end(None, Some(attrs(name.to_string(), purpose, turn)));
            }
            Err(error) => {
                call.failed(error);
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
