//! The transport between the client and residents: JSON texts over HTTP or within the process.

use std::{sync::Arc, time::Duration};

use ars_bot_ports::ResidentsError;
use ars_resident::wire::Route;
use async_trait::async_trait;

/// A request to residents.
#[derive(Debug, Clone)]
pub struct ResidentCall {
    /// The route.
    pub route: Route,
    /// Value of `resource` in the query, of a route without a body.
    pub resource: Option<String>,
    /// The body; empty for a route without one.
    pub body: String,
    /// Timeout of the whole answer.
    pub timeout: Duration,
}

/// An answer of residents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidentResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body. That of a streamed route may begin with line feeds.
    pub text: String,
}

/// Sends requests to residents.
#[async_trait]
pub trait ResidentTransport: Send + Sync {
    /// Sends a request and returns its answer, also if the status reports an error.
    ///
    /// # Errors
    /// No answer arrived.
    async fn send(&self, call: ResidentCall) -> Result<ResidentResponse, ResidentsError>;
}

#[async_trait]
impl<T: ResidentTransport + ?Sized> ResidentTransport for Arc<T> {
    async fn send(&self, call: ResidentCall) -> Result<ResidentResponse, ResidentsError> {
        (**self).send(call).await
    }
}
