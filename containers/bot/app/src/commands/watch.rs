//! `ars watch <url>`: follows a run from the page URL until it ends.

use std::process::ExitCode;

use anyhow::Context as _;
use ars_wire::ErrorCode;
use reqwest::{Client, Url, redirect};

use super::{
    Failure,
    follow::{Stream, follow},
};
use crate::{
    args::Watch,
    environment::{self, name},
    stores::{is_local, is_private},
};

/// Prints each step, then the answer.
pub async fn run(args: Watch) -> Result<ExitCode, Failure> {
    let url = events_url(&args.url).ok_or_else(|| {
        Failure::InvalidInput("the URL must be that of a run's page: …/runs/<id>?t=<token>".into())
    })?;
    // A redirect could lead the token to another host.
    let client = Client::builder()
        .redirect(redirect::Policy::none())
        .build()
        .context("the HTTP client")?;
    let server = environment::variable(name::SERVER);
    let mut token = environment::variable(name::TOKEN);
    let is_withheld = token.is_some() && !is_recipient(&url, server.as_deref())?;
    token = token.filter(|_| !is_withheld);
    let request = || match &token {
        Some(token) => client.get(&url).bearer_auth(token),
        None => client.get(&url),
    };
    match follow(&Stream { request: &request }).await {
        Err(Failure::Command(ErrorCode::Unauthorized, message)) if is_withheld => {
            let hint = "ARS_TOKEN is sent only to the service at ARS_SERVER and to this machine";
            Err(Failure::Command(
                ErrorCode::Unauthorized,
                format!("{message} ({hint})"),
            ))
        }
        ended => ended,
    }
}

/// Returns whether the token is for this URL: the service at `ARS_SERVER`, or this machine. Anybody
/// may have written the link.
///
/// # Errors
///
/// The service at `ARS_SERVER` would get the token without encryption.
fn is_recipient(url: &str, server: Option<&str>) -> Result<bool, Failure> {
    let origin = |text: &str| {
        Url::parse(text)
            .ok()
            .map(|url| url.origin())
            .filter(|origin| origin.is_tuple())
    };
    let is_server = server
        .and_then(origin)
        .is_some_and(|server| origin(url) == Some(server));
    if is_server && !is_private(url) {
        let problem =
            "ARS_SERVER must begin with https:// (http:// only for this machine) to get the token";
        return Err(Failure::InvalidInput(problem.into()));
    }
    Ok(is_private(url) && (is_server || is_local(url)))
}

/// Returns the URL for a page's event stream: `/events` is appended to the path, the query stays.
fn events_url(page: &str) -> Option<String> {
    let (path, query) = page.split_once('?').unwrap_or((page, ""));
    let (_, id) = path.rsplit_once("/runs/")?;
    if id.is_empty() || id.contains('/') {
        return None;
    }
    Some(if query.is_empty() {
        format!("{path}/events")
    } else {
        format!("{path}/events?{query}")
    })
}

#[cfg(test)]
mod tests {
    use super::{events_url, is_recipient};

    #[test]
    fn the_stream_stands_beside_the_page() {
        assert_eq!(
            events_url("http://h/runs/a?t=x").as_deref(),
            Some("http://h/runs/a/events?t=x")
        );
        assert_eq!(
            events_url("http://h/runs/a").as_deref(),
            Some("http://h/runs/a/events")
        );
        for other in ["http://h/", "http://h/runs/", "http://h/runs/a/b"] {
            assert_eq!(events_url(other), None, "{other}");
        }
    }

    #[test]
    fn only_the_named_service_gets_the_token() {
        let server = Some("https://bot.example");
        for (url, server) in [
            ("https://bot.example/runs/r1/events?t=x", server),
            (
                "https://BOT.example:443/runs/r1/events",
                Some("https://bot.example/base"),
            ),
            ("http://127.0.0.1:8787/runs/r1/events", None),
            ("http://localhost:1/runs/r1/events", server),
        ] {
            assert!(matches!(is_recipient(url, server), Ok(true)), "{url}");
        }
        for (url, server) in [
            ("https://bot.example/runs/r1/events", None),
            ("https://bot.example.evil.example/runs/r1/events", server),
            ("https://bot.example:8443/runs/r1/events", server),
            ("https://bot.example@evil.example/runs/r1/events", server),
            ("http://bot.example/runs/r1/events", server),
            ("http://evil.example/runs/r1/events", server),
            ("bot.example/runs/r1/events", Some("bot.example")),
        ] {
            assert!(matches!(is_recipient(url, server), Ok(false)), "{url}");
        }
    }
}
