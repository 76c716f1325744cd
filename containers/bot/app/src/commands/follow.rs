//! Follows a run's event stream. A broken stream is continued after the last event.

use std::{io::IsTerminal as _, process::ExitCode};

use anyhow::{Context as _, anyhow};
use ars_events::sse::{Decoder, Frame};
use ars_wire::ErrorCode;
use futures::StreamExt as _;
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use super::{Failure, reconnect::Reconnect, registry::failure_of};
use crate::{
    environment,
    terminal::{self, Steps, Style},
};

/// Header that names the last event.
const LAST_EVENT_ID: &str = "last-event-id";

/// Returns the step format for standard output.
pub(super) fn steps() -> Steps {
    Steps::new(Style::choose(
        std::io::stdout().is_terminal(),
        environment::raw("NO_COLOR").is_some(),
    ))
}

/// An event stream to follow.
pub(super) struct Stream<'a> {
    /// Makes a request for the stream.
    pub(super) request: &'a (dyn Fn() -> RequestBuilder + Sync),
}

/// Why reading a stream ended.
enum End {
    /// The run has ended.
    Run,
    /// The connection broke, with this cause.
    Connection(anyhow::Error),
}

/// Prints each step, then the answer.
pub(super) async fn follow(stream: &Stream<'_>) -> Result<ExitCode, Failure> {
    let steps = steps();
    let mut last_id: Option<String> = None;
    let mut response = connect(stream, None).await?;
    let mut reconnect = Reconnect::default();
    loop {
        let before = last_id.clone();
        let mut reason = match read(response, &steps, &mut last_id).await? {
            End::Run => return Ok(ExitCode::SUCCESS),
            End::Connection(reason) => Failure::Unavailable(reason),
        };
        if last_id != before {
            reconnect = Reconnect::default();
        }
        response = loop {
            if !reconnect.wait().await {
                return Err(reason);
            }
            match connect(stream, last_id.as_deref()).await {
                Ok(response) => break response,
                Err(failure) if failure.is_outage() => reason = failure,
                Err(failure) => return Err(failure),
            }
        };
    }
}

async fn connect(stream: &Stream<'_>, last_id: Option<&str>) -> Result<Response, Failure> {
    let request = (stream.request)();
    let request = match last_id {
        Some(id) => request.header(LAST_EVENT_ID, id),
        None => request,
    };
    let response = request.send().await.map_err(reqwest::Error::without_url);
    let response = response
        .context("the service could not be reached")
        .map_err(Failure::Unavailable)?;
    match response.status() {
        status if status.is_success() => Ok(response),
        status if status.as_u16() == 404 => {
            let message =
                "the service answered 404: no such run, or it is not visible to this caller";
            Err(Failure::Command(ErrorCode::NotFound, message.to_owned()))
        }
        _ => Err(failure_of(response).await),
    }
}

/// Reads until the run ends or the connection breaks.
async fn read(
    response: Response,
    steps: &Steps,
    last_id: &mut Option<String>,
) -> Result<End, Failure> {
    let mut decoder = Decoder::default();
    let mut body = response.bytes_stream();
    while let Some(bytes) = body.next().await {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                return Ok(End::Connection(
                    anyhow!(error.without_url()).context("the stream broke off"),
                ));
            }
        };
        for Frame { id, event, data } in decoder.push(&bytes) {
            *last_id = id.or_else(|| last_id.take());
            match event.as_deref() {
                Some("end") => return Ok(End::Run),
                Some(_) => {}
                None => match serde_json::from_str(&data) {
                    Ok(event) => show(steps, event)?,
                    Err(_) => {
                        return Err(anyhow!("the service sent an event that is not JSON").into());
                    }
                },
            }
        }
    }
    Ok(End::Connection(anyhow!("the stream ended before the run")))
}

/// Prints a step or the answer, without control sequences: any server may be at the address.
pub(super) fn show(steps: &Steps, event: Value) -> std::io::Result<()> {
    let event = &with_texts(event, &|text| ars_events::clean(&text, usize::MAX));
    if event["type"] == "answer" {
        terminal::print(&format!(
            "\n{}\n",
            event["text"].as_str().unwrap_or_default()
        ))?;
    } else if let Some(lines) = steps.lines(event) {
        terminal::print(&format!("{lines}\n"))?;
    }
    Ok(())
}

/// Replaces every text in an event.
pub(super) fn with_texts(value: Value, replace: &impl Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(replace(text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| with_texts(item, replace))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, with_texts(value, replace)))
            .collect(),
        value => value,
    }
}
