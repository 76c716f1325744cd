//! A stand-in for the state Worker: the same store behind the same order of checks (state-worker supplement 1.1).
//!
//! The real one runs on workerd, in tests/workerd.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use ars_bot_core::ports::Clock;
use ars_runs::RunStore;
use ars_sql_native::NativeSql;
use ars_store::{Store as _, StoreFailure, key_of};
use ars_types::StoreKey;
use ars_wire::state::{RunVerb, Verb as _};
use axum::{
    Router,
    body::to_bytes,
    extract::{Request, State},
    http::{Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::fixture::ManualClock;

struct Worker {
    token: String,
    clock: Arc<ManualClock>,
    /// One isolated store per key, as one Durable Object each.
    stores: Mutex<HashMap<StoreKey, RunStore<NativeSql>>>,
}

/// A running server; it ends with the value.
pub struct StateWorker {
    pub url: String,
    task: JoinHandle<()>,
}

impl StateWorker {
    pub async fn start(token: &str, clock: Arc<ManualClock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let worker = Worker { token: token.to_owned(), clock, stores: Mutex::default() };
        let app = Router::new().fallback(handle).with_state(Arc::new(worker));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, task }
    }
}

impl Drop for StateWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn handle(State(worker): State<Arc<Worker>>, request: Request) -> Response {
    match worker.answer(request).await {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err((status, message)) => (status, json!({ "error": message }).to_string()).into_response(),
    }
}

impl Worker {
    async fn answer(&self, request: Request) -> Result<String, (StatusCode, String)> {
        let (parts, body) = request.into_parts();
        let verb = self.gate(&parts)?;
        let body = String::from_utf8(to_bytes(body, verb.fence()).await.unwrap().into()).unwrap();
        self.serve(verb, &body).map_err(|failure| match failure {
            StoreFailure::Refusal(refusal) => {
                (StatusCode::from_u16(refusal.status()).unwrap(), refusal.to_string())
            }
            StoreFailure::Fault(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal error".into()),
        })
    }

    /// The checks before the body is read.
    fn gate(&self, parts: &Parts) -> Result<RunVerb, (StatusCode, String)> {
        let verb = RunVerb::of(parts.uri.path()).ok_or((StatusCode::NOT_FOUND, "not found".into()))?;
        let fence = verb.fence();
        if parts.method != Method::POST {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "method not allowed".into()));
        }
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if header(header::AUTHORIZATION) != format!("Bearer {}", self.token) {
            return Err((StatusCode::UNAUTHORIZED, "unauthorized".into()));
        }
        let length = header(header::CONTENT_LENGTH).trim();
        if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err((StatusCode::LENGTH_REQUIRED, "a numeric Content-Length is needed".into()));
        }
        if length.parse::<usize>().map_or(true, |length| length > fence) {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, format!("at most {fence} bytes")));
        }
        Ok(verb)
    }

    fn serve(&self, verb: RunVerb, body: &str) -> Result<String, StoreFailure> {
        let key = key_of(body, RunVerb::KEY)?;
        let mut stores = self.stores.lock().unwrap();
        let store =
            stores.entry(key).or_insert_with(|| RunStore::open(NativeSql::in_memory().unwrap()).unwrap());
        store.answer(verb, body, self.clock.now())
    }
}
