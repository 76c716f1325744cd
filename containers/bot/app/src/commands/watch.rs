//! `ars watch <url>`: follows a run from the URL of its page until it ends.

use std::{io::IsTerminal as _, process::ExitCode};

use anyhow::{Context as _, anyhow, bail};
use ars_events::sse::Decoder;
use futures::StreamExt as _;
use serde_json::Value;

use super::Failure;
use crate::{
    args::Watch,
    environment,
    terminal::{self, Steps, Style},
};

/// Prints each step, then the answer.
pub async fn run(args: Watch) -> Result<ExitCode, Failure> {
    let url = events_url(&args.url).ok_or_else(|| {
        Failure::InvalidInput("the URL must be that of a run's page: …/runs/<id>?t=<token>".into())
    })?;
    let response = reqwest::Client::new().get(url).send().await;
    let response = response.context("the service could not be reached").map_err(Failure::Unavailable)?;
    if !response.status().is_success() {
        return Err(Failure::Unavailable(anyhow!("the service answered {}", response.status())));
    }
    let style = Style::choose(std::io::stdout().is_terminal(), environment::raw("NO_COLOR").is_some());
    let steps = Steps::new(style);
    let mut decoder = Decoder::default();
    let mut body = response.bytes_stream();
    while let Some(bytes) = body.next().await {
        for frame in decoder.push(&bytes.context("the stream broke off").map_err(Failure::Unavailable)?) {
            match frame.event.as_deref() {
                Some("end") => return Ok(ExitCode::SUCCESS),
                Some(_) => {}
                None => show(&steps, &frame.data)?,
            }
        }
    }
    Err(Failure::Unavailable(anyhow!("the stream ended before the run")))
}

fn show(steps: &Steps, data: &str) -> anyhow::Result<()> {
    let Ok(event) = serde_json::from_str::<Value>(data) else {
        bail!("the service sent an event that is not JSON")
    };
    if event["type"] == "answer" {
        terminal::print(&format!("\n{}\n", event["text"].as_str().unwrap_or_default()))?;
    } else if let Some(lines) = steps.lines(&event) {
        terminal::print(&format!("{lines}\n"))?;
    }
    Ok(())
}

/// Returns the URL of a page's event stream: `/events` is appended to the path, the query stays.
fn events_url(page: &str) -> Option<String> {
    let (path, query) = page.split_once('?').unwrap_or((page, ""));
    let (_, id) = path.rsplit_once("/runs/")?;
    if id.is_empty() || id.contains('/') {
        return None;
    }
    Some(if query.is_empty() { format!("{path}/events") } else { format!("{path}/events?{query}") })
}

#[cfg(test)]
mod tests {
    use super::events_url;

    #[test]
    fn the_stream_stands_beside_the_page() {
        assert_eq!(events_url("http://h/runs/a?t=x").as_deref(), Some("http://h/runs/a/events?t=x"));
        assert_eq!(events_url("http://h/runs/a").as_deref(), Some("http://h/runs/a/events"));
        for other in ["http://h/", "http://h/runs/", "http://h/runs/a/b"] {
            assert_eq!(events_url(other), None, "{other}");
        }
    }
}
