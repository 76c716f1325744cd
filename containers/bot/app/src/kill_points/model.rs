//! Kill points around the models: `model`.

use std::sync::Arc;

use ars_agent::ModelTurn;
use ars_bot_ports::{ModelClient, ModelDelta, ModelError, ModelRequest, Models, UnknownProvider};
use ars_types::ModelRef;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::point::KillPoint;

/// Models with kill points.
pub(super) struct KilledModels {
    pub(super) inner: Arc<dyn Models>,
    pub(super) point: KillPoint,
}

struct KilledModel {
    inner: Arc<dyn ModelClient>,
    point: KillPoint,
}

impl Models for KilledModels {
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        let inner = self.inner.client(model)?;
        Ok(Arc::new(KilledModel {
            inner,
            point: self.point.clone(),
        }))
    }
}

#[async_trait]
impl ModelClient for KilledModel {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        self.point
            .around("model.turn", self.inner.turn(request, deltas, cancel))
            .await
    }

    fn label(&self) -> Option<&str> {
        self.inner.label()
    }
}
