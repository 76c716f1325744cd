//! A proxy that adds the bearer to each request, for tools that cannot send it.

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING},
    response::Response,
};
use tokio::net::TcpListener;

/// Maximum body size in bytes.
const MAX_BODY_BYTES: usize = 1 << 20;

#[derive(Clone)]
struct Upstream {
    client: reqwest::Client,
    url: String,
    token: &'static str,
}

/// Starts a proxy for a server until the runtime ends, and returns the base URL. `Host` passes
/// unchanged.
///
/// # Panics
/// When no port is free.
pub async fn with_bearer(url: String, token: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("the socket has an address");
    let upstream = Upstream {
        client: reqwest::Client::new(),
        url,
        token,
    };
    let router = Router::new().fallback(forward).with_state(upstream);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

async fn forward(State(upstream): State<Upstream>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY_BYTES)
        .await
        .expect("the body arrives");
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    let answer = upstream
        .client
        .request(head.method, format!("{}{}", upstream.url, head.uri))
        .headers(head.headers)
        .bearer_auth(upstream.token)
        .body(body)
        .send()
        .await
        .expect("the server answers");
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer
        .headers()
        .iter()
        .filter(|(name, _)| **name != TRANSFER_ENCODING)
    {
        response = response.header(name, value);
    }
    response
        .body(Body::from(
            answer.bytes().await.expect("the answer arrives"),
        ))
        .expect("the answer is valid")
}
