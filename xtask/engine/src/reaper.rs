//! Removes the edge runtime's containers once they have ended, as the platform does.
//!
//! A container of the runtime has its object's name. One that has ended keeps that name at podman, and the runtime,
//! which takes it for the one it is to start, starts nothing. Not here: containers that others made.

use std::io::{BufRead, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::api::Api;

/// What the runtime's names begin with.
const PREFIX: &str = "workerd-";

/// Follows what the engine tells. As long as it does, an engine that leaves when nobody needs it stays.
#[derive(Debug)]
pub(crate) struct Reaper {
    stream: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Reaper {
    /// Removes what has ended already, then whatever ends.
    pub(crate) fn start(api: &Api) -> Result<Self> {
        let stream = api.events()?;
        for name in ended(&api.get("/containers/json?all=true")?.json()?) {
            remove(api, &name);
        }
        let (reader, api) = (BufReader::new(stream.try_clone().context("events")?), api.clone());
        let thread = thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                if let Some(name) = died(&line) {
                    remove(&api, &name);
                }
            }
        });
        Ok(Self { stream, thread: Some(thread) })
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        // A socket that cannot be shut down is closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, there is nothing left to remove for it.
            let _ = thread.join();
        }
    }
}

/// The runtime's containers among these that do not run.
fn ended(listed: &Value) -> Vec<String> {
    let rows = listed.as_array().into_iter().flatten().filter(|row| row["State"] == "exited");
    let names = rows.filter_map(|row| row["Names"][0].as_str());
    names.map(|name| name.trim_start_matches('/').to_owned()).filter(|name| is_the_runtimes(name)).collect()
}

/// The runtime's container that this event tells the end of.
fn died(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let is_end = ["die", "died"].into_iter().any(|word| event["Action"] == word || event["status"] == word);
    let name =
        event["Actor"]["Attributes"]["name"].as_str().filter(|name| is_end && is_the_runtimes(name))?;
    Some(name.to_owned())
}

fn is_the_runtimes(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Without `force`: one that was started again meanwhile stays.
fn remove(api: &Api, name: &str) {
    let removed = api.delete(&format!("/containers/{name}?v=true"));
    match removed {
        Ok(answer) if answer.is_success() || answer.status == 404 => {}
        Ok(answer) => eprintln!("an ended container stays: {}", answer.complaint()),
        Err(error) => eprintln!("an ended container stays: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_container_of_the_runtime_counts() {
        let event = |action: &str, name: &str| {
            format!(
                r#"{{"Type":"container","Action":"{action}","Actor":{{"Attributes":{{"name":"{name}"}}}}}}"#
            )
        };
        assert_eq!(died(&event("die", "workerd-bot-1")).as_deref(), Some("workerd-bot-1"));
        assert_eq!(died(&event("died", "workerd-bot-1")).as_deref(), Some("workerd-bot-1"));
        for other in [event("start", "workerd-bot-1"), event("die", "mine"), "HTTP/1.0 200 OK".to_owned()] {
            assert_eq!(died(&other), None, "{other}");
        }
        let listed = serde_json::json!([
            {"Names": ["/workerd-bot-1"], "State": "exited"},
            {"Names": ["/workerd-bot-2"], "State": "running"},
            {"Names": ["/mine"], "State": "exited"},
        ]);
        assert_eq!(ended(&listed), ["workerd-bot-1"]);
    }
}
