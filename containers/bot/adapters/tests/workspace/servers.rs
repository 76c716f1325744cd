//! Git servers on a port of their own: one that wants a password, and one that accepts and never answers.

use std::path::{Path, PathBuf};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::Response,
};
use tokio::net::TcpListener;

use crate::support::git;

/// Serves a repository's files to who knows the password, by git's plain ("dumb") protocol.
pub async fn with_password(origin: &Path, user_and_password: &str) -> String {
    use base64::Engine as _;
    git(origin, &["update-server-info"]);
    let expected = base64::engine::general_purpose::STANDARD.encode(user_and_password);
    let state = (origin.join(".git"), format!("Basic {expected}"));
    let app = Router::new().fallback(serve).with_state(state);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("{address}/repo.git")
}

async fn serve(State((files, expected)): State<(PathBuf, String)>, request: Request) -> Response {
    let answer = Response::builder();
    let given = request.headers().get(header::AUTHORIZATION);
    if given.is_none_or(|given| given.as_bytes() != expected.as_bytes()) {
        let challenge = answer.header(header::WWW_AUTHENTICATE, "Basic realm=\"git\"");
        return challenge.status(StatusCode::UNAUTHORIZED).body(Body::empty()).unwrap();
    }
    let path = request.uri().path().trim_start_matches("/repo.git/");
    match std::fs::read(files.join(path)) {
        Ok(content) => answer.body(Body::from(content)).unwrap(),
        Err(_) => answer.status(StatusCode::NOT_FOUND).body(Body::empty()).unwrap(),
    }
}

/// Accepts connections, and says nothing.
pub async fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/repo.git", listener.local_addr().unwrap());
    (listener, url)
}
