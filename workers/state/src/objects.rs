//! The Durable Object classes this Worker exports, each a newtype around its library's struct, and which of them
//! keeps what a route asks for.

use ars_do_run_store::RunStoreObject;
use ars_do_run_transcript::RunTranscriptObject;
use ars_wire::state::Route;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

/// The namespace of the objects that answer a route.
pub const fn binding(route: Route) -> &'static str {
    match route {
        Route::Runs(_) => ars_do_run_store::BINDING,
        Route::Transcript(_) => ars_do_run_transcript::BINDING,
        Route::Memory(_) | Route::Friction(_) | Route::Schedules(_) => "SOON",
    }
}

/// Finished and live runs of one store.
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

/// The transcript of one live run.
#[durable_object(fetch)]
pub struct RunTranscript(RunTranscriptObject);

impl DurableObject for RunTranscript {
    fn new(state: State, _env: Env) -> Self {
        Self(RunTranscriptObject::new(state))
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        self.0.fetch(request).await
    }
}
