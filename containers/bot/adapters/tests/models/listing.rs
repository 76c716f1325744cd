//! Lists a compatible server's models. Choosing among them is tested in the composition root.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ars_auth::Secret;
use ars_bot_adapters::models::{ProviderConfig, ProviderKind, Transport, listed_models};
use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
    routing::get,
};
use serde_json::json;

const KEY: &str = "canary-key-of-the-list";

/// Returns the models that a server with this answer lists.
async fn listed(
    base_path: &str,
    answer: impl IntoResponse + Clone + Send + Sync + 'static,
) -> Result<Vec<String>, String> {
    let handler = async move |headers: HeaderMap| match headers["authorization"].to_str() {
        Ok(value) if value == format!("Bearer {KEY}") => answer.clone().into_response(),
        _ => StatusCode::UNAUTHORIZED.into_response(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}{base_path}", listener.local_addr().unwrap());
    let router = Router::new().route(
        &format!(
            "{}/models",
            if base_path.is_empty() {
                "/v1"
            } else {
                base_path
            }
        ),
        get(handler),
    );
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let http = Transport::default().client().unwrap();
    listed_models(&http, &provider(url)).await
}

fn provider(url: String) -> ProviderConfig {
    ProviderConfig {
        kind: ProviderKind::OpenAiCompatible,
        api_key: Secret::parse(Some(KEY.to_owned())),
        base_url: Some(url),
        script: None,
    }
}

#[tokio::test]
async fn usable_names_are_listed_once_and_sorted() {
    let names = ["b", "a/7b", "b", "", "two words", "tab\t"]
        .map(|id| json!({ "id": id, "object": "model" }));
    let body = json!({ "object": "list", "data": names }).to_string();
    assert_eq!(
        listed("", body.clone()).await.unwrap(),
        ["a/7b", "b"],
        "the version is added to a bare address"
    );
    assert_eq!(listed("/api/v3", body).await.unwrap(), ["a/7b", "b"]);
}

#[tokio::test]
async fn failure_names_the_server_and_neither_key_nor_body() {
    let long = " ".repeat((1 << 20) + 1);
    for (answer, reason) in [
        (
            (StatusCode::FORBIDDEN, format!("no: {KEY}")),
            "answered 403",
        ),
        (
            (StatusCode::OK, format!("<p>{KEY}</p>")),
            "sent no list of models",
        ),
        ((StatusCode::OK, long), "is longer than"),
    ] {
        let error = listed("", answer).await.unwrap_err();
        assert!(
            error.contains("127.0.0.1") && error.contains(reason) && !error.contains(KEY),
            "{error}"
        );
    }
    let http = Transport::default().client().unwrap();
    let error = listed_models(&http, &provider("http://127.0.0.1:1".to_owned()))
        .await
        .unwrap_err();
    assert!(error.contains("cannot be reached"), "{error}");
}
