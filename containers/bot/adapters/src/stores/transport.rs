//! The transport between a client and the stores: JSON texts over HTTP or within the process.

use std::sync::Arc;

use ars_bot_ports::StoreError;
use ars_wire::state::Route;
use async_trait::async_trait;

/// Sends requests to the stores.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and returns the response, also if the status reports an error.
    ///
    /// # Errors
    ///
    /// Fails if no response arrived.
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError>;
}

#[async_trait]
impl<T: Transport + ?Sized> Transport for Arc<T> {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        (**self).send(route, body).await
    }
}

/// A response from the stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreResponse {
    /// The HTTP status code.
    pub status: u16,
    /// Response body text.
    pub text: String,
}
