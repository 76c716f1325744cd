//! Store request metrics: a transport decorator times each attempt by route and outcome.

use std::time::Instant;

use ars_bot_ports::{
    StoreError,
    metrics::{self, Outcome},
};
use ars_wire::state::Route;
use async_trait::async_trait;

use super::transport::{StoreResponse, Transport};

/// A transport with metrics.
pub(super) struct Measured<T>(pub(super) T);

#[async_trait]
impl<T: Transport> Transport for Measured<T> {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        let began = Instant::now();
        let answer = self.0.send(route, body).await;
        metrics::store_request(route.path(), outcome(&answer), began.elapsed());
        answer
    }
}

/// Returns a request's outcome. A conflict is a normal response.
fn outcome(answer: &Result<StoreResponse, StoreError>) -> Outcome {
    match answer {
        Ok(StoreResponse {
            status: 200 | 409, ..
        }) => Outcome::Ok,
        Ok(_) => Outcome::Failed,
        Err(_) => Outcome::Infra,
    }
}
