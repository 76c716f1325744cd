//! The Durable Object classes this Worker exports, each a newtype around its library's struct.

use ars_do_run_store::RunStoreObject;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

/// Finished runs of one store.
#[durable_object(alarm)]
pub struct RunStore(RunStoreObject);

impl DurableObject for RunStore {
    fn new(state: State, _env: Env) -> Self {
        Self(RunStoreObject::new(state))
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        self.0.fetch(request).await
    }

    async fn alarm(&self) -> Result<Response> {
        self.0.alarm().await
    }
}
