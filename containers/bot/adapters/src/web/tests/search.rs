//! Tests searches against a server with Brave's responses.

use std::time::Duration;

use ars_auth::Secret;
use ars_bot_ports::WebHit;
use axum::{
    extract::Request,
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

use super::*;
use crate::web::{BraveSearch, WebSetupError};

/// A key that must appear only in the right header.
const KEY: &str = "canary-search-key";
const LIMIT: Duration = Duration::from_secs(12);

fn key() -> Secret {
    Secret::parse(Some(KEY.into())).unwrap()
}

async fn search(
    answer: impl Fn() -> Response + Clone + Send + Sync + 'static,
) -> Result<Vec<WebHit>, WebError> {
    asked(answer).await.0
}

/// Returns a search's result and requests: the URI and the key's header.
async fn asked(
    answer: impl Fn() -> Response + Clone + Send + Sync + 'static,
) -> (Result<Vec<WebHit>, WebError>, Vec<(Uri, String)>) {
    let seen: Arc<Mutex<Vec<(Uri, String)>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let router = Router::new().fallback(async move |request: Request| {
        let key = request
            .headers()
            .get("x-subscription-token")
            .map(|key| key.to_str().unwrap().to_owned());
        kept.lock()
            .unwrap()
            .push((request.uri().clone(), key.unwrap_or_default()));
        answer()
    });
    let site = Site::serve(router).await;
    let service = BraveSearch::new(&key(), Some(&site.url("127.0.0.1", "/"))).unwrap();
    let web = PublicWeb::new(Some(service)).unwrap();
    let found = web
        .search("rust & dns", LIMIT, &CancellationToken::new())
        .await;
    let seen = seen.lock().unwrap().clone();
    (found, seen)
}

#[tokio::test]
async fn search_sends_query_and_key() {
    let body = r#"{"type": "search", "web": {"results": [
        {"title": "One", "url": "https://one.example/", "description": "first", "age": "x"},
        {"url": "https://two.example/"}
    ]}}"#;
    let (found, seen) = asked(move || body.into_response()).await;
    let hit = |title: &str, url: &str, description: &str| WebHit {
        title: title.into(),
        url: url.into(),
        description: description.into(),
    };
    assert_eq!(
        found,
        Ok(vec![
            hit("One", "https://one.example/", "first"),
            hit("", "https://two.example/", "")
        ])
    );
    let uri = "/res/v1/web/search?q=rust+%26+dns&count=10&text_decorations=false";
    assert_eq!(seen, [(uri.parse().unwrap(), KEY.to_owned())]);
}

#[tokio::test]
async fn an_answer_without_web_results_has_no_matches() {
    assert_eq!(search(|| "{}".into_response()).await, Ok(Vec::new()));
}

#[tokio::test]
async fn failures_are_distinguished_and_quote_no_text() {
    let refused = search(|| (StatusCode::TOO_MANY_REQUESTS, KEY).into_response()).await;
    assert_eq!(refused, Err(WebError::Search(429)));
    let (moved, seen) =
        asked(|| (StatusCode::FOUND, [(header::LOCATION, "/other")]).into_response()).await;
    assert_eq!((moved, seen.len()), (Err(WebError::Search(302)), 1));
    let nonsense = search(|| KEY.into_response()).await;
    assert_eq!(nonsense, Err(WebError::SearchAnswer));
    let endless = search(|| "[".repeat(2 << 20).into_response()).await;
    assert_eq!(endless, Err(WebError::SearchAnswer));
}

#[tokio::test]
async fn without_a_service_a_search_is_not_configured() {
    let web = PublicWeb::new(None).unwrap();
    assert_eq!(
        web.search("x", LIMIT, &CancellationToken::new()).await,
        Err(WebError::NotConfigured)
    );
}

#[test]
fn a_broken_setting_is_named_and_not_shown() {
    let broken = Secret::parse(Some("canary\nkey".into())).unwrap();
    assert_eq!(
        BraveSearch::new(&broken, None).err(),
        Some(WebSetupError::SearchKey)
    );
    for base in ["canary", "ftp://canary"] {
        assert_eq!(
            BraveSearch::new(&key(), Some(base)).err(),
            Some(WebSetupError::SearchUrl),
            "{base}"
        );
    }
    assert!(!WebSetupError::SearchKey.to_string().contains("canary"));
}
