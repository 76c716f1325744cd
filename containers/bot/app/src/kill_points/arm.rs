//! The decorated ports.

use std::sync::Arc;

use ars_bot_adapters::stores::Transport;
use ars_bot_core::Deps;

use super::{
    model::KilledModels, point::KillPoint, stores::KillingTransport, workspace::KilledWorkspaces,
};
use crate::commands::Failure;

/// Decorates the ports with the kill point from the environment.
pub fn arm(mut deps: Deps) -> Result<Deps, Failure> {
    let Some(point) = KillPoint::of_environment()? else {
        return Ok(deps);
    };
    deps.models = Arc::new(KilledModels {
        inner: deps.models,
        point: point.clone(),
    });
    deps.workspaces = Arc::new(KilledWorkspaces {
        inner: deps.workspaces,
        point,
    });
    Ok(deps)
}

/// Decorates the stores' transport with the kill point from the environment.
pub fn arm_transport(inner: Arc<dyn Transport>) -> Result<Arc<dyn Transport>, Failure> {
    let point = KillPoint::of_environment()?;
    Ok(match point {
        Some(point) => Arc::new(KillingTransport { inner, point }),
        None => inner,
    })
}
