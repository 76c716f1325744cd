//! A run's viewers: connections that measure each event's age on arrival.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use ars_raw_http::Connection;
use serde_json::Value;

/// Stack size for a viewer's thread: it holds a line.
const STACK: usize = 128 << 10;
/// Bytes a viewer reads at once.
const BUFFER: usize = 8 << 10;
/// Longest wait for a viewer to end.
const END_LIMIT: Duration = Duration::from_secs(60);

/// The events a viewer saw.
struct Seen {
    /// Each event's age, for events after all viewers were there.
    ages: Vec<Duration>,
    /// The last event's number.
    last_seq: u64,
    /// Whether the stream reported its end.
    ended: bool,
}

/// Viewers that are watching.
pub struct Viewers {
    count: usize,
    seen: Receiver<Result<Seen>>,
}

impl Viewers {
    /// Connects this many viewers.
    pub fn watch(events: &str, count: usize) -> Result<Self> {
        let (address, path) = events
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .context("an address")?;
        let streams: Result<Vec<_>> = (0..count).map(|_| connect(address, path)).collect();
        let since = now();
        let (sender, seen) = mpsc::channel();
        for stream in streams? {
            let sender = sender.clone();
            thread::Builder::new().stack_size(STACK).spawn(move || {
                // The receiver may have given up.
                let _ = sender.send(read(stream, since));
            })?;
        }
        Ok(Self { count, seen })
    }

    /// Waits until all streams are over and returns all events' ages. Every viewer must have seen
    /// the same last event.
    pub fn ages(self) -> Result<Vec<Duration>> {
        let mut ages = Vec::new();
        let mut last = None;
        for _ in 0..self.count {
            let seen = self
                .seen
                .recv_timeout(END_LIMIT)
                .context("a viewer's stream does not end")??;
            ensure!(
                seen.ended,
                "a viewer was cut off at event {}",
                seen.last_seq
            );
            let last = *last.get_or_insert(seen.last_seq);
            ensure!(
                last == seen.last_seq,
                "viewers saw {last} and {} events",
                seen.last_seq
            );
            ages.extend(seen.ages);
        }
        Ok(ages)
    }
}

fn connect(address: &str, path: &str) -> Result<Connection> {
    let mut stream = Connection::open(address.parse()?)?;
    let request =
        format!("GET /{path} HTTP/1.1\r\nhost: {address}\r\naccept: text/event-stream\r\n\r\n");
    stream.send(request.as_bytes())?;
    Ok(stream)
}

fn read(stream: Connection, since: Duration) -> Result<Seen> {
    let mut seen = Seen {
        ages: Vec::new(),
        last_seq: 0,
        ended: false,
    };
    let mut lines = stream.lines(BUFFER);
    let status = lines.next().context("no answer")??;
    ensure!(status.contains(" 200 "), "a viewer was answered {status}");
    for line in lines {
        let line = line?;
        if line == "event: end" {
            seen.ended = true;
            break;
        }
        let came = now();
        if let Some((seq, at)) = line.strip_prefix("data: ").and_then(event) {
            seen.last_seq = seq;
            if at >= since {
                seen.ages.push(came.saturating_sub(at));
            }
        }
    }
    Ok(seen)
}

/// Returns an event's number, and when it happened.
fn event(json: &str) -> Option<(u64, Duration)> {
    let event: Value = serde_json::from_str(json).ok()?;
    Some((
        event["seq"].as_u64()?,
        Duration::from_millis(event["at"].as_u64()?),
    ))
}

/// Since 1970, as the events' times are; to the microsecond, where theirs are to the millisecond.
fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
