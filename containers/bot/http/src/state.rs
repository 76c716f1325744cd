//! What every route may use.

use std::sync::Arc;

use ars_auth::TokenMap;
use ars_bot_core::Core;
use ars_wire::health::Build;

use crate::lag::LagMeter;

/// The state of the HTTP surface. Cheap to clone.
#[derive(Clone)]
pub struct HttpState {
    /// Used by every route that reads or starts runs.
    pub(crate) core: Core,
    /// Used by the ingress gate.
    pub(crate) tokens: Arc<TokenMap>,
    /// Used by the health probe.
    pub(crate) build: Arc<Build>,
    /// Used by the health probe.
    pub(crate) lag: LagMeter,
}

impl HttpState {
    /// The state around a core. Must be called inside a tokio runtime, whose lag it measures from now on.
    pub fn new(core: Core, tokens: Arc<TokenMap>, build: Build) -> Self {
        Self { core, tokens, build: Arc::new(build), lag: LagMeter::start() }
    }
}
