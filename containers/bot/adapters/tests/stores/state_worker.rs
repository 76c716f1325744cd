//! The state Worker on a socket in this process, with a fixed clock (`ars_testkit::NativeState`).
//! It has its own gate and stores. `tests/workerd` runs the same suite against the deployed Worker.

use std::sync::{Arc, Mutex};

use ars_bot_ports::Clock as _;
use ars_store::gate::Head;
use ars_testkit::NativeState;
use axum::{
    Router,
    body::to_bytes,
    extract::{Request, State},
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::clock::ManualClock;

/// More than any gate limit, which rejects longer bodies.
const ANY_BODY: usize = 4 * 1024 * 1024;

struct Shared {
    state: Mutex<NativeState>,
    clock: Arc<ManualClock>,
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
        let shared = Shared {
            state: Mutex::new(NativeState::new(Some(token))),
            clock,
        };
        let app = Router::new().fallback(handle).with_state(Arc::new(shared));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, task }
    }
}

impl Drop for StateWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, ANY_BODY).await.unwrap();
    let header = |name: HeaderName| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let head = Head {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        authorization: header(header::AUTHORIZATION),
        content_length: header(header::CONTENT_LENGTH),
    };
    let (status, text) = shared
        .state
        .lock()
        .unwrap()
        .answer(&head, &body, shared.clock.now());
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::from_u16(status).unwrap(), json, text).into_response()
}
