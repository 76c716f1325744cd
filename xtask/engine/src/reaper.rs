//! Removes the edge runtime's containers once they stopped, as the platform does.
//!
//! A container has its object's name. A stopped container keeps that name at the engine, so the
//! runtime would not start the next. The runtime also tells the engine to restart failed
//! containers, although the edge decides that, so they are removed too. Other projects' containers
//! on the same engine stay.

use std::io::{BufRead, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::api::Api;
use crate::containers::list;

/// Prefix for our containers' names: the runtime's own, then our Workers'. The latter is `ars-bot`
/// deployed, `ars-…` in a test.
const PREFIX: &str = "workerd-ars-";
/// Before an engine is asked again that stopped telling.
const PAUSE: Duration = Duration::from_millis(200);

/// Follows the engine's events. The open request also keeps an idle engine from exiting.
#[derive(Debug)]
pub(crate) struct Reaper {
    link: Arc<Link>,
    thread: Option<JoinHandle<()>>,
}

/// The connection that is listened to, and the way to end the listening.
#[derive(Debug, Default)]
struct Link {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stream: Option<UnixStream>,
    over: bool,
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is done under the lock that could leave half a state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reconnects, then removes containers that stopped in between.
    fn connect(&self, api: &Api) -> Result<BufReader<UnixStream>> {
        let stream = api.events()?;
        let kept = stream.try_clone().context("events")?;
        let mut state = self.lock();
        if state.over {
            // The connection was opened too late to be closed by `drop`.
            let _ = kept.shutdown(Shutdown::Both);
        }
        state.stream = Some(kept);
        drop(state);
        for id in ended(&list(api)?) {
            remove(api, &id);
        }
        Ok(BufReader::new(stream))
    }

    /// Waits a little; whether to listen on.
    fn pause(&self) -> bool {
        let waited = self
            .over
            .wait_timeout_while(self.lock(), PAUSE, |state| !state.over);
        !waited.unwrap_or_else(PoisonError::into_inner).0.over
    }

    fn end(&self) {
        let mut state = self.lock();
        state.over = true;
        if let Some(stream) = &state.stream {
            // A socket that cannot be shut down is closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.over.notify_all();
    }
}

impl Reaper {
    /// Removes stopped containers, now and whenever one stops.
    /// Reconnects to the engine until it is dropped.
    pub(crate) fn start(api: &Api) -> Result<Self> {
        let link = Arc::<Link>::default();
        let first = link.connect(api)?;
        let (listening, api) = (Arc::clone(&link), api.clone());
        let thread = thread::spawn(move || {
            follow(&api, first);
            while listening.pause() {
                // An engine that does not answer now may be about to: it is asked again.
                if let Ok(next) = listening.connect(&api) {
                    follow(&api, next);
                }
            }
        });
        Ok(Self {
            link,
            thread: Some(thread),
        })
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.link.end();
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, there is nothing left to remove for it.
            let _ = thread.join();
        }
    }
}

/// Removes containers that stop, until the event stream ends.
fn follow(api: &Api, events: BufReader<UnixStream>) {
    for line in events.lines().map_while(Result::ok) {
        if let Some(id) = died(&line) {
            remove(api, &id);
        }
    }
}

/// Our objects' containers among these that do not run, by id.
fn ended(listed: &Value) -> Vec<String> {
    let rows = listed
        .as_array()
        .into_iter()
        .flatten()
        .filter(|row| row["State"] == "exited");
    let ours = rows.filter(|row| row["Names"][0].as_str().is_some_and(is_ours));
    ours.filter_map(|row| row["Id"].as_str().map(str::to_owned))
        .collect()
}

/// Returns the id of our container that this event reports as stopped.
fn died(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let is_end = ["die", "died"]
        .into_iter()
        .any(|word| event["Action"] == word || event["status"] == word);
    event["Actor"]["Attributes"]["name"]
        .as_str()
        .filter(|name| is_end && is_ours(name))?;
    event["Actor"]["ID"].as_str().map(str::to_owned)
}

fn is_ours(name: &str) -> bool {
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
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Longest wait for a removal; only a reaper that listens no more reaches it.
    const TIMEOUT: Duration = Duration::from_secs(20);

    /// An engine whose first event stream ends at once. A container stops before the second stream
    /// reports another.
    fn breaking_off(listener: &UnixListener, removed: &Sender<String>) {
        let (mut streams, mut lists, mut open) = (0, 0, Vec::new());
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap())
                .read_line(&mut line)
                .unwrap();
            let target = line.split(' ').nth(1).unwrap().to_owned();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").unwrap();
            if target == "/events" {
                streams += 1;
                if streams == 2 {
                    let actor = serde_json::json!({"ID": "later", "Attributes": {"name": "workerd-ars-bot"}});
                    writeln!(
                        stream,
                        "{}",
                        serde_json::json!({"Action": "die", "Actor": actor})
                    )
                    .unwrap();
                    open.push(stream);
                }
            } else if let Some(id) = target
                .strip_prefix("/containers/")
                .filter(|_| line.starts_with("DELETE"))
            {
                removed
                    .send(id.split('?').next().unwrap().to_owned())
                    .unwrap();
            } else {
                lists += 1;
                let missed = serde_json::json!([{"Id": "missed", "Names": ["/workerd-ars-bot"], "State": "exited"}]);
                let listed = if lists == 1 {
                    serde_json::json!([])
                } else {
                    missed
                };
                stream.write_all(listed.to_string().as_bytes()).unwrap();
            }
        }
    }

    #[test]
    fn broken_event_stream_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("s")).unwrap();
        let (sender, receiver) = channel();
        thread::spawn(move || breaking_off(&listener, &sender));
        let reaper = Reaper::start(&Api::new(dir.path().join("s"))).unwrap();
        assert_eq!(receiver.recv_timeout(TIMEOUT).unwrap(), "missed");
        assert_eq!(receiver.recv_timeout(TIMEOUT).unwrap(), "later");
        // Dropping it returns although no event is pending.
        drop(reaper);
    }

    #[test]
    fn only_our_containers_ends_count() {
        let event = |action: &str, name: &str| {
            let actor = serde_json::json!({"ID": "1f", "Attributes": {"name": name}});
            serde_json::json!({"Type": "container", "Action": action, "Actor": actor}).to_string()
        };
        assert_eq!(
            died(&event("die", "workerd-ars-bot-1")).as_deref(),
            Some("1f")
        );
        assert_eq!(
            died(&event("died", "workerd-ars-bot-1")).as_deref(),
            Some("1f")
        );
        let others = [
            event("start", "workerd-ars-bot-1"),
            event("die", "mine"),
            event("die", "workerd-other-1"),
        ];
        for other in others.into_iter().chain(["HTTP/1.0 200 OK".to_owned()]) {
            assert_eq!(died(&other), None, "{other}");
        }
        let listed = serde_json::json!([
            {"Id": "1", "Names": ["/workerd-ars-bot-1"], "State": "exited"},
            {"Id": "2", "Names": ["/workerd-ars-bot-2"], "State": "running"},
            {"Id": "3", "Names": ["/mine"], "State": "exited"},
            {"Id": "4", "Names": ["/workerd-other-1"], "State": "exited"},
        ]);
        assert_eq!(ended(&listed), ["1"]);
    }
}
