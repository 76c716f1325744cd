//! The little HTTP that `up` and `bench` speak.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;
use ureq::Agent;

/// Longest wait for an answer that takes no work.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Longest look for a run in the index.
const FEED_LIMIT: Duration = Duration::from_secs(20);

fn agent() -> Agent {
    // An error status is a response too. The event stream has no end, so only the wait for the head
    // is limited.
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_recv_response(Some(ANSWER_LIMIT));
    config.build().into()
}

/// Returns whether the bot answers the probe.
pub fn is_healthy(bot: &str) -> bool {
    agent()
        .get(format!("{bot}/healthz"))
        .call()
        .is_ok_and(|answer| answer.status().is_success())
}

/// How many requests the bot is busy with, their records included.
pub fn in_flight(bot: &str) -> Result<u64> {
    let mut answer = agent()
        .get(format!("{bot}/healthz"))
        .call()
        .context("GET /healthz")?;
    let health: Value =
        serde_json::from_str(&answer.body_mut().read_to_string()?).context("GET /healthz")?;
    health["inFlight"]
        .as_u64()
        .context("GET /healthz answered without inFlight")
}

/// Returns the bot's metrics text.
pub fn metrics(bot: &str) -> Result<String> {
    let mut answer = agent()
        .get(format!("{bot}/metrics"))
        .call()
        .context("GET /metrics")?;
    Ok(answer.body_mut().read_to_string()?)
}

/// Posts a request to the ingress.
pub fn dispatch(bot: &str, token: &str, body: &Value) -> Result<(u16, Value)> {
    post(&format!("{bot}/ingress"), token, body)
}

/// Gets JSON without a credential.
pub fn get(url: &str) -> Result<(u16, Value)> {
    read(url, None)
}

/// Gets JSON with a bearer.
pub fn get_with(url: &str, token: &str) -> Result<(u16, Value)> {
    read(url, Some(token))
}

fn read(url: &str, token: Option<&str>) -> Result<(u16, Value)> {
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let mut request = agent().get(url);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let mut answer = request.call().with_context(|| format!("GET /{path}"))?;
    let status = answer.status().as_u16();
    let text = answer
        .body_mut()
        .read_to_string()
        .with_context(|| format!("GET /{path}"))?;
    Ok((
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    ))
}

/// Posts JSON with a bearer; an answer that is not JSON is returned as text.
pub fn post(url: &str, token: &str, body: &Value) -> Result<(u16, Value)> {
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let mut answer = agent()
        .post(url)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .send(body.to_string())
        .with_context(|| format!("POST /{path}"))?;
    let status = answer.status().as_u16();
    let text = answer
        .body_mut()
        .read_to_string()
        .with_context(|| format!("POST /{path}"))?;
    Ok((
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    ))
}

/// Returns the path to a run's live page; its token is only in the index. `viewer` is the secret
/// for mode `token`.
pub fn live_page(bot: &str, viewer: Option<&str>, run: &str) -> Result<Option<String>> {
    let began = Instant::now();
    let mut request = agent().get(format!("{bot}/runs?stream=1"));
    if let Some(viewer) = viewer {
        request = request.header("authorization", format!("Bearer {viewer}"));
    }
    let feed = request.call().context("GET /runs?stream=1")?;
    for line in BufReader::new(feed.into_body().into_reader()).lines() {
        let line = line.context("the stream of the index broke off")?;
        if let Some(path) = line
            .strip_prefix("data:")
            .and_then(|data| url_of(data, run))
        {
            return Ok(Some(path));
        }
        // Keep-alives see to it that this is looked at.
        if began.elapsed() > FEED_LIMIT {
            break;
        }
    }
    Ok(None)
}

fn url_of(data: &str, run: &str) -> Option<String> {
    let change: Value = serde_json::from_str(data.trim()).ok()?;
    let row = change.get("run").filter(|row| row["id"] == run)?;
    Some(row["url"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_runs_own_row_is_taken() {
        let row = r#" {"type":"upsert","run":{"id":"r1","url":"/runs/r1?t=x"}}"#;
        assert_eq!(url_of(row, "r1").as_deref(), Some("/runs/r1?t=x"));
        assert_eq!(url_of(row, "r2"), None);
        assert_eq!(url_of(r#"{"type":"removed","id":"r1"}"#, "r1"), None);
    }
}
