//! Removes the edge runtime's containers once they have ended, as the platform does.
//!
//! A container of the runtime has its object's name. One that has ended keeps that name at podman, and the runtime,
//! which takes it for the one it is to start, starts nothing. The runtime also has the engine start again what failed,
//! which is the edge's to decide: that one is removed too. Not here: containers that others made.

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
        for id in ended(&api.get("/containers/json?all=true")?.json()?) {
            remove(api, &id);
        }
        let (reader, api) = (BufReader::new(stream.try_clone().context("events")?), api.clone());
        let thread = thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                if let Some(id) = died(&line) {
                    remove(&api, &id);
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

/// The runtime's containers among these that do not run, by id.
fn ended(listed: &Value) -> Vec<String> {
    let rows = listed.as_array().into_iter().flatten().filter(|row| row["State"] == "exited");
    let ours = rows.filter(|row| row["Names"][0].as_str().is_some_and(is_the_runtimes));
    ours.filter_map(|row| row["Id"].as_str().map(str::to_owned)).collect()
}

/// The id of the runtime's container that this event tells the end of.
fn died(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let is_end = ["die", "died"].into_iter().any(|word| event["Action"] == word || event["status"] == word);
    event["Actor"]["Attributes"]["name"].as_str().filter(|name| is_end && is_the_runtimes(name))?;
    event["Actor"]["ID"].as_str().map(str::to_owned)
}

fn is_the_runtimes(name: &str) -> bool {
    name.trim_start_matches('/').starts_with(PREFIX)
}

/// By id: by now another may have the name.
fn remove(api: &Api, id: &str) {
    let removed = api.delete(&format!("/containers/{id}?force=true&v=true"));
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
            let actor = serde_json::json!({"ID": "1f", "Attributes": {"name": name}});
            serde_json::json!({"Type": "container", "Action": action, "Actor": actor}).to_string()
        };
        assert_eq!(died(&event("die", "workerd-bot-1")).as_deref(), Some("1f"));
        assert_eq!(died(&event("died", "workerd-bot-1")).as_deref(), Some("1f"));
        for other in [event("start", "workerd-bot-1"), event("die", "mine"), "HTTP/1.0 200 OK".to_owned()] {
            assert_eq!(died(&other), None, "{other}");
        }
        let listed = serde_json::json!([
            {"Id": "1", "Names": ["/workerd-bot-1"], "State": "exited"},
            {"Id": "2", "Names": ["/workerd-bot-2"], "State": "running"},
            {"Id": "3", "Names": ["/mine"], "State": "exited"},
        ]);
        assert_eq!(ended(&listed), ["1"]);
    }
}
