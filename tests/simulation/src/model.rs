//! The model's port of one process, over the script.

use std::sync::Arc;

use ars_agent::ModelTurn;
use ars_bot_core::ports::{
    ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, Models, UnknownProvider,
};
use ars_types::ModelRef;
use async_trait::async_trait;
use tokio::time::{Duration, sleep};
use tokio_util::sync::CancellationToken;

use crate::{life::Life, script, world::Order};

/// How long the model thinks.
const THINKING: Duration = Duration::from_millis(300);

/// Every model of one process.
pub(crate) struct Scripted(pub(crate) Arc<Life>);

impl Models for Scripted {
    fn client(&self, _model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        Ok(Arc::new(Self(Arc::clone(&self.0))))
    }
}

#[async_trait]
impl ModelClient for Scripted {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        _deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        let life = &self.0;
        let call = life.begin("model").await;
        let step = script::progress(request.turns);
        if step == script::FOLLOW_UP_AT && script::is_followed_up(request.turns) {
            life.world.order(Order::FollowUp { through_eldest: false });
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(ModelError { kind: ModelErrorKind::Cancelled, message: "stopped".into() });
            }
            () = sleep(THINKING) => {}
        }
        let turn = script::answer(request.turns, request.may_call_tools);
        if turn.stop == ars_agent::StopReason::EndTurn {
            let asked = script::ids(&script::request(request.turns));
            let at_ms = life.world.at_ms();
            let mut evidence = life.world.evidence();
            for id in asked {
                evidence.answered.entry(id).or_insert(at_ms);
            }
        }
        life.end_call(&call).await;
        Ok(turn)
    }
}
