//! The transport between the client and residents: JSON texts over HTTP or within the process.

use std::{sync::Arc, time::Duration};

use ars_bot_ports::ResidentsError;
use ars_resident::wire::Route;
use async_trait::async_trait;

/// A request to residents.
#[derive(Debug, Clone)]
pub struct ResidentCall {
    /// The route to call.
    pub route: Route,
    /// Value for `resource` in the query, on a route without a body.
    pub resource: Option<String>,
    /// The body; empty for a route without a body.
    pub body: String,
    /// Timeout for the whole response.
    pub timeout: Duration,
}

/// A response from residents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidentResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The body. On a streamed route it may begin with line feeds.
    pub text: String,
}

/// Sends requests to residents.
#[async_trait]
pub trait ResidentTransport: Send + Sync {
    /// Sends a request and returns the response, also if the status reports an error.
    ///
    /// # Errors
    /// No response arrived.
    async fn send(&self, call: ResidentCall) -> Result<ResidentResponse, ResidentsError>;
}

#[async_trait]
impl<T: ResidentTransport + ?Sized> ResidentTransport for Arc<T> {
    async fn send(&self, call: ResidentCall) -> Result<ResidentResponse, ResidentsError> {
        (**self).send(call).await
    }
}
