//! The state that every route shares.

use std::sync::Arc;

use ars_auth::{Secret, TokenMap};
use ars_bot_core::Core;
use ars_bot_ports::Overload;
use ars_wire::health::{Build, ChatStatus};
use axum::{extract::FromRef, http::HeaderName};

use crate::{
    Dashboard,
    auth::attempts::Attempts,
    server::{LagMeter, Quota, Rates, StreamGate, StreamLimits},
};

/// A caller's reads per minute for each request: a script that pages through runs needs many.
const READS_PER_REQUEST: u32 = 10;

/// The HTTP surface's state. Cheap to clone.
#[derive(Clone)]
pub struct HttpState {
    /// Used by every route that reads or starts runs.
    pub(crate) core: Core,
    /// Used by the ingress gate.
    pub(crate) tokens: Arc<TokenMap>,
    /// Used by every route that accepts requests or writes.
    pub(crate) rates: Arc<Rates>,
    /// Used by the commands that read.
    pub(crate) reads: Arc<Rates>,
    /// Used by the run pages' gate.
    pub(crate) dashboard: Arc<Dashboard>,
    /// Used by the sign-in form.
    pub(crate) sign_ins: Arc<Attempts>,
    /// Used by the run pages' gate.
    pub(crate) bearers: Arc<Attempts>,
    /// Used by the gates with an ingress token.
    pub(crate) callers: Arc<Attempts>,
    /// The header in which a trusted proxy states the peer; `None` without such a proxy.
    pub(crate) peer_header: Option<HeaderName>,
    /// Used by event stream routes.
    pub(crate) streams: Arc<Quota>,
    /// Used by the health probe.
    pub(crate) build: Arc<Build>,
    /// Used by the health probe.
    pub(crate) lag: LagMeter,
    /// Used by the metrics; `None` if the installation serves none.
    pub(crate) metrics: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    /// Used by the health probe; `None` without a chat surface.
    pub(crate) chat: Option<Arc<dyn Fn() -> ChatStatus + Send + Sync>>,
    /// Used by the route that authorizes a restart; `None` in a process that no edge started.
    pub(crate) edge_secret: Option<Secret>,
    /// Used by the crash route.
    pub(crate) crash: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl HttpState {
    /// Returns the state around a core.
    /// Must be called within a Tokio runtime, because it starts measuring the lag.
    pub fn new(core: Core, tokens: Arc<TokenMap>, build: Build) -> Self {
        Self {
            core,
            tokens,
            rates: Arc::default(),
            reads: Arc::default(),
            dashboard: Arc::default(),
            sign_ins: Arc::default(),
            bearers: Arc::default(),
            callers: Arc::default(),
            peer_header: None,
            streams: StreamLimits::default().quota(),
            build: Arc::new(build),
            lag: LagMeter::start(),
            metrics: None,
            chat: None,
            edge_secret: None,
            crash: None,
        }
    }

    /// Counts an actor's request.
    ///
    /// # Errors
    /// The actor's request limit per minute.
    pub(crate) fn count(&self, actor: &str) -> Result<(), Overload> {
        let settings = self.core.settings();
        let limit = settings.load.requests_per_minute;
        self.rates.admit(&settings.caller(actor), limit)
    }

    /// Counts an actor's read.
    ///
    /// # Errors
    /// The actor's read limit per minute.
    pub(crate) fn count_read(&self, actor: &str) -> Result<(), Overload> {
        let settings = self.core.settings();
        let limit = settings.load.requests_per_minute;
        self.reads.admit(
            &settings.caller(actor),
            limit.map(|limit| limit.saturating_mul(READS_PER_REQUEST)),
        )
    }

    /// Counts an actor's command.
    ///
    /// # Errors
    /// The actor's write or read limit per minute.
    pub(crate) fn count_command(&self, actor: &str, is_write: bool) -> Result<(), Overload> {
        if is_write {
            self.count(actor)
        } else {
            self.count_read(actor)
        }
    }

    /// Returns the state with another dashboard gate mode.
    #[must_use]
    pub fn with_dashboard(mut self, dashboard: Dashboard) -> Self {
        self.dashboard = Arc::new(dashboard);
        self
    }

    /// Trusts the peer that this header states. Every request must then come from a proxy that sets it.
    #[must_use]
    pub fn with_peer_header(mut self, name: impl Into<Option<HeaderName>>) -> Self {
        self.peer_header = name.into();
        self
    }

    /// Returns the state with other event stream limits.
    #[must_use]
    pub fn with_stream_limits(mut self, limits: StreamLimits) -> Self {
        self.streams = limits.quota();
        self
    }

    /// Serves metrics. `render` returns the text for Prometheus.
    #[must_use]
    pub fn with_metrics(mut self, render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Arc::new(render));
        self
    }

    /// Shows the chat surface's state in the health probe.
    #[must_use]
    pub fn with_chat(mut self, status: impl Fn() -> ChatStatus + Send + Sync + 'static) -> Self {
        self.chat = Some(Arc::new(status));
        self
    }

    /// Believes the edge that presents this secret which subject it has authenticated.
    #[must_use]
    pub fn with_edge_secret(mut self, secret: impl Into<Option<Secret>>) -> Self {
        self.edge_secret = secret.into();
        self
    }

    /// Enables the crash route. `end` ends the process at once.
    #[must_use]
    pub fn with_crash(mut self, end: impl Fn() + Send + Sync + 'static) -> Self {
        self.crash = Some(Arc::new(end));
        self
    }
}

impl FromRef<HttpState> for StreamGate {
    fn from_ref(state: &HttpState) -> Self {
        Self {
            open: Arc::clone(&state.streams),
            peer_header: state.peer_header.clone(),
        }
    }
}
