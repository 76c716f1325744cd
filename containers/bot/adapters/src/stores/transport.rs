//! The transport of a client's requests to the stores: JSON text in, JSON text out, over HTTP or within the process.

use std::sync::Arc;

use ars_bot_ports::StoreError;
use ars_wire::state::Route;
use async_trait::async_trait;

/// Sends requests to the stores.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and returns the answer, whatever its status. An error means that there is no answer.
    async fn send(&self, route: Route, body: String) -> Result<Answer, StoreError>;
}

#[async_trait]
impl<T: Transport + ?Sized> Transport for Arc<T> {
    async fn send(&self, route: Route, body: String) -> Result<Answer, StoreError> {
        (**self).send(route, body).await
    }
}

/// An answer of the stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub text: String,
}
