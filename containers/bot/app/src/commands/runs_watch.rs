//! `ars runs watch <id>`: follows a run of a service until it ends, over the commands of `/api`.

use std::{process::ExitCode, time::Duration};

use anyhow::anyhow;
use ars_events::unwrap_untrusted;
use ars_types::{RunId, RunStatus};
use ars_wire::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Failure,
    follow::{RECONNECT_ATTEMPTS, reconnect_delay, show, steps},
    registry::Server,
};
use crate::{args::RunsWatch, error::is_success};

/// Interval of the requests for new events after the last one brought some.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Greatest interval, of a run that works on one step for long.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A run of a service.
struct Watched {
    server: Server,
    id: RunId,
    /// Seq of the last printed event.
    after: u64,
    /// Only a connection that worked before is retried.
    has_answered: bool,
}

/// The facts of `runs.get` that matter here.
#[derive(Deserialize)]
struct Run {
    finished: bool,
    status: Option<RunStatus>,
}

/// The output of `runs.events`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    events: Vec<Value>,
    next_after_seq: Option<u64>,
}

/// Prints each step, then the answer.
/// The exit code is that of the run's status (docs/reference/cli.md#exit-codes).
pub async fn run(args: RunsWatch) -> Result<ExitCode, Failure> {
    let server = Server::at(&args.server)?;
    let mut watched = Watched { server, id: args.id, after: 0, has_answered: false };
    let steps = steps();
    let mut interval = POLL_INTERVAL;
    loop {
        // Read before the events, so that the last events of a run that ends now are not missed.
        let run: Run = watched.post("runs.get", &json!({ "id": watched.id })).await?;
        while let Some(events) = watched.next_events().await? {
            for event in events {
                show(&steps, &plain(event))?;
            }
            interval = POLL_INTERVAL;
        }
        if run.finished {
            return ended(run.status);
        }
        tokio::time::sleep(interval).await;
        interval = (interval * 2).min(MAX_POLL_INTERVAL);
    }
}

fn ended(status: Option<RunStatus>) -> Result<ExitCode, Failure> {
    match status {
        Some(status) if is_success(status) => Ok(ExitCode::SUCCESS),
        Some(status) => Err(Failure::Failed(format!("the status of the run is {status}"))),
        None => Err(Failure::Failed("the status of the run is unknown".to_owned())),
    }
}

impl Watched {
    /// Returns the next page of events, or `None` without new ones.
    async fn next_events(&mut self) -> Result<Option<Vec<Value>>, Failure> {
        let before = self.after;
        let input = json!({ "id": self.id, "afterSeq": self.after });
        let Page { events, next_after_seq } = self.post("runs.events", &input).await?;
        let last = events.iter().filter_map(|event| event["seq"].as_u64()).max();
        self.after = self.after.max(next_after_seq.or(last).unwrap_or(0));
        Ok(Some(events).filter(|_| self.after > before))
    }

    /// Invokes a command. Retries while the service cannot be reached or has an outage.
    async fn post<T: serde::de::DeserializeOwned>(
        &mut self,
        command: &str,
        input: &Value,
    ) -> Result<T, Failure> {
        let mut attempt = 0;
        let json = loop {
            match self.server.post(command, input).await {
                Err(failure) if self.has_answered && attempt < RECONNECT_ATTEMPTS && is_outage(&failure) => {}
                answer => break answer?,
            }
            tokio::time::sleep(reconnect_delay(attempt)).await;
            attempt += 1;
        };
        self.has_answered = true;
        serde_json::from_str(&json).map_err(|error| {
            Failure::Unavailable(anyhow!(error).context(format!("the output of {command} is invalid")))
        })
    }
}

const fn is_outage(failure: &Failure) -> bool {
    matches!(failure, Failure::Unavailable(_) | Failure::Command(ErrorCode::Unavailable, _))
}

/// Removes the delimiters around the texts of an event.
/// They are for programs that pass them to a model.
fn plain(value: Value) -> Value {
    match value {
        Value::String(text) => match unwrap_untrusted(&text) {
            Some(body) => Value::String(body.to_owned()),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        value => value,
    }
}
