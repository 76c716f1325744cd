//! The HTTP server as a service. It stops after the drain, because the probe answers until then.

use ars_bot_http::{ConnectionLimits, HttpState, Routes};
use async_trait::async_trait;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Service;

/// Serves HTTP on a listener.
pub struct HttpService {
    /// Where connections arrive.
    pub listener: TcpListener,
    /// State that the routes share.
    pub state: HttpState,
    /// Routes of the surfaces.
    pub surfaces: Vec<Routes>,
    /// Limits on open connections.
    pub limits: ConnectionLimits,
}

#[async_trait]
impl Service for HttpService {
    fn name(&self) -> &'static str {
        "http"
    }

    async fn run(self, stop: CancellationToken) {
        let router = ars_bot_http::router(self.state, self.surfaces);
        ars_bot_http::serve(self.listener, router, self.limits, stop.cancelled_owned()).await;
    }
}
