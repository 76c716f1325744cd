//! Access to the metrics: dashboard viewers only (docs/logging.md).
#![expect(clippy::unwrap_used, reason = "a test")]

use ars_bot_core::settings::Settings;
use ars_bot_http::Dashboard;
use reqwest::Client;

use super::support::{Bot, TOKENS, by_token, public};

/// Returns status and body for a request with this host and this bearer.
async fn scraped(bot: &Bot, host: Option<&str>, bearer: Option<&str>) -> (u16, String) {
    let mut request = Client::new().get(bot.url("/metrics"));
    if let Some(host) = host {
        request = request.header("host", host);
    }
    if let Some(bearer) = bearer {
        request = request.bearer_auth(bearer);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn mode_none_serves_metrics_to_this_machine() {
    let bot = Bot::behind(Dashboard::Loopback, TOKENS, Settings::default()).await;
    assert_eq!(
        scraped(&bot, None, None).await,
        (200, "ars_in_flight 0\n".to_owned())
    );
    // A proxy on this machine forwards requests from elsewhere, with or without forwarding headers.
    assert_eq!(scraped(&bot, Some("bot.example.com"), None).await.0, 403);
    let bot = Bot::behind(by_token("access:ops"), TOKENS, Settings::default()).await;
    assert_eq!(scraped(&bot, None, None).await.0, 403);
}

#[tokio::test]
async fn mode_token_needs_the_secret_for_metrics() {
    let bot = Bot::behind(by_token("access:ops"), TOKENS, public()).await;
    for bearer in [
        None,
        Some("good"),
        Some("reader"),
        Some("loo"),
        Some("looked"),
    ] {
        assert_eq!(
            scraped(&bot, None, bearer).await,
            (403, "Forbidden\n".to_owned()),
            "{bearer:?}"
        );
    }
    assert_eq!(
        scraped(&bot, None, Some("look")).await,
        (200, "ars_in_flight 0\n".to_owned())
    );
    assert_eq!(
        scraped(&bot, Some("bot.example.com"), Some("look")).await.0,
        200
    );

    let closed = Bot::behind(Dashboard::Loopback, TOKENS, public()).await;
    assert_eq!(scraped(&closed, None, None).await.0, 403);
}
