//! How a client's requests reach the stores: one JSON text for another, over HTTP or within the process.

use std::sync::Arc;

use ars_bot_ports::StoreError;
use ars_wire::state::Route;
use async_trait::async_trait;

/// Exchanges a request's text for the answer's.
#[async_trait]
pub trait Transport: Send + Sync {
    /// The answer, whatever its status; an error only when there is none.
    async fn send(&self, route: Route, body: String) -> Result<Answer, StoreError>;
}

#[async_trait]
impl<T: Transport + ?Sized> Transport for Arc<T> {
    async fn send(&self, route: Route, body: String) -> Result<Answer, StoreError> {
        (**self).send(route, body).await
    }
}

/// What the state Worker answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub text: String,
}
