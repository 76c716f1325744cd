//! The server, and the requests that it recorded.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::AbortHandle};

use super::git;
use crate::{processes::shown_with, secrets};

/// Path that spans go to.
pub const SPANS: &str = "/v1/traces";
/// Path that searches go to.
pub const SEARCHES: &str = "/res/v1/web/search";
/// Where the repository is.
pub const REPOSITORY: &str = "/repo.git";
/// Largest request that is read.
const BODY_BYTES: usize = 16 << 20;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Path and query together.
    pub path: String,
    /// Headers on the request.
    pub headers: HeaderMap,
    /// The UTF-8 part of the body.
    pub body: String,
}

/// The server, until dropped.
pub struct Outside {
    _folder: TempDir,
    address: String,
    shared: Arc<Shared>,
    serving: AbortHandle,
}

struct Shared {
    files: PathBuf,
    /// The bot's user agent.
    address: String,
    sent: Mutex<Vec<Sent>>,
    shown: Mutex<String>,
}

impl Outside {
    /// Starts the recording server.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            files: git::project(folder.path(), &[]).join(".git"),
            address: address.clone(),
            sent: Mutex::default(),
            shown: Mutex::default(),
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            _folder: folder,
            address,
            shared,
            serving: serving.abort_handle(),
        }
    }

    /// Returns the server's address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the repository's origin, with the password.
    pub fn origin(&self) -> String {
        format!(
            "http://bot:{}@{}{REPOSITORY}",
            secrets::ORIGIN,
            self.address
        )
    }

    /// Returns the recorded requests.
    pub fn sent(&self) -> Vec<Sent> {
        self.shared.sent.lock().unwrap().clone()
    }

    /// Returns arguments and environments of processes while they fetched the repository.
    pub fn shown(&self) -> String {
        self.shared.shown.lock().unwrap().clone()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = to_bytes(body, BODY_BYTES).await.unwrap_or_default();
    let sent = Sent {
        path: parts.uri.to_string(),
        headers: parts.headers.clone(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    shared.sent.lock().unwrap().push(sent);
    match parts.uri.path() {
        SPANS => StatusCode::OK.into_response(),
        SEARCHES => searched(),
        path => match path.strip_prefix(REPOSITORY) {
            Some(file) => repository(&shared, file, &parts.headers),
            None => StatusCode::NOT_FOUND.into_response(),
        },
    }
}

/// Returns a found page that contains the search key.
fn searched() -> Response {
    let text = format!("the key {} is in use", secrets::SEARCH);
    let hit =
        serde_json::json!({ "title": "One", "url": "https://one.example/", "description": text });
    serde_json::json!({ "web": { "results": [hit] } })
        .to_string()
        .into_response()
}

fn repository(shared: &Shared, file: &str, headers: &HeaderMap) -> Response {
    shared
        .shown
        .lock()
        .unwrap()
        .push_str(&shown_with(&shared.address));
    let expected = format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("bot:{}", secrets::ORIGIN))
    );
    if headers
        .get(header::AUTHORIZATION)
        .is_none_or(|given| given.as_bytes() != expected.as_bytes())
    {
        return (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, "Basic realm=\"git\"")],
        )
            .into_response();
    }
    match std::fs::read(shared.files.join(file.trim_start_matches('/'))) {
        Ok(content) => content.into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}
