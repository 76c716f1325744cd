//! A process's model port, driven by the script.

use std::sync::Arc;

use ars_agent::{ModelTurn, StopReason, Usage};
use ars_bot_ports::{
    ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, Models, RetryCause,
    UnknownProvider,
};
use ars_types::ModelRef;
use async_trait::async_trait;
use tokio::time::{Duration, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    evidence::ModelCall,
    lifetime::Lifetime,
    script::{self, bounded},
    world::Order,
};

/// Latency for a model call.
const THINKING: Duration = Duration::from_millis(300);
/// Retry delay while a model is overloaded.
const BUSY: Duration = Duration::from_secs(10);
/// Attempts before an overloaded call fails.
const ATTEMPTS: u32 = 6;
/// Delay between a broken attempt and the next.
const BROKEN: Duration = Duration::from_secs(1);

/// All models in a process.
pub(crate) struct Scripted(pub(crate) Arc<Lifetime>);

impl Models for Scripted {
    fn client(&self, _model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        Ok(Arc::new(Self(Arc::clone(&self.0))))
    }
}

type Deltas<'a> = &'a (dyn Fn(ModelDelta) + Send + Sync);

#[async_trait]
impl ModelClient for Scripted {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: Deltas<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        let life = &self.0;
        if request.model == script::CHEAP {
            return Ok(self.reflect().await);
        }
        let call = life.begin("model").await;
        let model_call = self.record_call(&request, call.number);
        if script::is_followed_up(request.turns) {
            life.world.order(Order::FollowUp {
                through_eldest: false,
            });
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(failed(ModelErrorKind::Cancelled)),
            thought = self.think(&request, model_call, deltas) => thought?,
        }
        let turn = script::answer(request.turns, request.may_call_tools);
        if turn.stop == StopReason::EndTurn {
            let answered = script::ids(&script::request(request.turns));
            let at_ms = life.world.at_ms();
            let mut evidence = life.world.evidence();
            for id in answered {
                evidence.answered.entry(id).or_insert(at_ms);
            }
        }
        life.end_call(&call).await;
        self.record_cost(model_call, request.model, turn.usage);
        Ok(turn)
    }
}

impl Scripted {
    async fn reflect(&self) -> ModelTurn {
        let call = self.0.begin("reflection").await;
        sleep(THINKING).await;
        self.0.end_call(&call).await;
        script::reflection(call.number)
    }

    /// Produces the deltas before the answer, or an error.
    async fn think(
        &self,
        request: &ModelRequest<'_>,
        model_call: usize,
        deltas: Deltas<'_>,
    ) -> Result<(), ModelError> {
        if bounded::is_overloaded(request.model, request.turns) {
            return Err(self.refuse(deltas).await);
        }
        if let Some(usage) = bounded::broken(request.turns) {
            self.0.alive().await;
            self.record_cost(model_call, request.model, usage);
            deltas(ModelDelta::Usage(usage));
            deltas(ModelDelta::Retrying {
                attempt: 1,
                wait: BROKEN,
                cause: RetryCause::Unreachable,
            });
            sleep(BROKEN).await;
        }
        sleep(THINKING).await;
        Ok(())
    }

    /// Reports every attempt as overloaded and returns the final error.
    async fn refuse(&self, deltas: Deltas<'_>) -> ModelError {
        for attempt in 1..=ATTEMPTS {
            self.0.alive().await;
            deltas(ModelDelta::Retrying {
                attempt,
                wait: BUSY,
                cause: RetryCause::Overload,
            });
            sleep(BUSY).await;
        }
        self.0.alive().await;
        failed(ModelErrorKind::Overloaded { retry_after: None })
    }

    /// Adds a call to the evidence and returns the index.
    fn record_call(&self, request: &ModelRequest<'_>, number: u64) -> usize {
        let world = &self.0.world;
        let first = script::request(request.turns);
        let about = script::ids(&first);
        let mut requests = world.story.requests().iter();
        let request_of = requests.find(|sent| about.first().is_some_and(|id| id == sent.id));
        let model_call = ModelCall {
            has_request: !about.is_empty()
                && request_of.is_none_or(|sent| first.contains(sent.text)),
            about,
            process: self.0.name.clone(),
            number,
            model: request.model.to_owned(),
            system: request.system.to_owned(),
            reported: Vec::new(),
        };
        let mut evidence = world.evidence();
        evidence.model_calls.push(model_call);
        evidence.model_calls.len() - 1
    }

    fn record_cost(&self, model_call: usize, model: &str, usage: Usage) {
        let world = &self.0.world;
        let reported = (world.calls(), world.story.cost(model, usage));
        world.evidence().model_calls[model_call]
            .reported
            .push(reported);
    }
}

fn failed(kind: ModelErrorKind) -> ModelError {
    ModelError {
        kind,
        message: "as planned".into(),
    }
}
