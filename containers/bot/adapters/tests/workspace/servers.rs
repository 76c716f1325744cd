//! Git servers: with a password, or accepting connections and never answering.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::Response,
};
use tokio::net::TcpListener;

use crate::support::git;

/// Serves a repository's files with a password, over git's plain ("dumb") protocol.
///
/// Also returns the git processes' arguments and environments during the requests.
pub async fn with_password(origin: &Path, user_and_password: &str) -> (String, Arc<Mutex<String>>) {
    use base64::Engine as _;
    git(origin, &["update-server-info"]);
    let expected = base64::engine::general_purpose::STANDARD.encode(user_and_password);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shown = Arc::<Mutex<String>>::default();
    let state = Served {
        files: origin.join(".git"),
        expected: format!("Basic {expected}"),
        address: address.to_string(),
        shown: Arc::clone(&shown),
    };
    let app = Router::new().fallback(serve).with_state(state);
    tokio::spawn(async move { axum::serve(listener, app).await });
    (format!("{address}/repo.git"), shown)
}

#[derive(Clone)]
struct Served {
    files: PathBuf,
    expected: String,
    address: String,
    shown: Arc<Mutex<String>>,
}

/// Returns the arguments and environments of processes that have this address.
fn shown_with(address: &str) -> String {
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let read = |path: PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let told = processes.map(|process| (read(process.join("cmdline")), process));
    let told = told.filter(|(arguments, _)| arguments.contains(address));
    told.map(|(arguments, process)| format!("{arguments} {}\n", read(process.join("environ"))))
        .collect()
}

async fn serve(State(served): State<Served>, request: Request) -> Response {
    let Served {
        files,
        expected,
        address,
        shown,
    } = served;
    shown.lock().unwrap().push_str(&shown_with(&address));
    let answer = Response::builder();
    let given = request.headers().get(header::AUTHORIZATION);
    if given.is_none_or(|given| given.as_bytes() != expected.as_bytes()) {
        let challenge = answer.header(header::WWW_AUTHENTICATE, "Basic realm=\"git\"");
        return challenge
            .status(StatusCode::UNAUTHORIZED)
            .body(Body::empty())
            .unwrap();
    }
    let path = request.uri().path().trim_start_matches("/repo.git/");
    match std::fs::read(files.join(path)) {
        Ok(content) => answer.body(Body::from(content)).unwrap(),
        Err(_) => answer
            .status(StatusCode::NOT_FOUND)
            .body(Body::empty())
            .unwrap(),
    }
}

/// Accepts connections and stays silent.
pub async fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/repo.git", listener.local_addr().unwrap());
    (listener, url)
}

/// Serves redirects to a repository. Returns the address.
pub async fn redirecting_to(target: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let target = target.to_owned();
    let redirect = move |request: Request| {
        let query = request
            .uri()
            .query()
            .map(|query| format!("?{query}"))
            .unwrap_or_default();
        let place = format!(
            "{target}{}{query}",
            request.uri().path().trim_start_matches("/repo.git")
        );
        async move { (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, place)]) }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(redirect)).await });
    format!("http://{address}/repo.git")
}
