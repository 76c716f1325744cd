//! A bot that records each request's head and size.
//!
//! The path decides how it answers: `/refuse` answers 401 without reading the body, as the bot does
//! with unknown callers; `/ignore` neither reads nor answers; `/stream` sends comments until the
//! reader disconnects, `/idle` as many as half an hour has; any other path reads the whole body and
//! answers its size.

use std::io::{Read as _, Result};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ars_raw_http::{Call, READ_TIMEOUT, Upstream};
use serde_json::json;

/// Body bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Time between two comments in a stream: a thousandth of the bot's (`frames::KEEPALIVE_EVERY`).
const PULSE: Duration = Duration::from_millis(20);
/// Comments that the bot sends in half an hour.
pub const HALF_AN_HOUR: usize = 90;
const JSON: &str = "application/json";

/// A request as it arrived.
#[derive(Debug, Clone, Default)]
pub struct Arrival {
    /// The request line and the fields, unchanged.
    pub head: Vec<u8>,
    /// The target in the request line.
    pub target: String,
    /// Body bytes read so far.
    pub body: u64,
    /// Trailers after a chunked body.
    pub trailers: Vec<String>,
    /// The connection broke before the request or the response was complete.
    pub broke: bool,
}

impl Arrival {
    /// Returns the head as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.head).into_owned()
    }
}

type Shared = Arc<(Mutex<Vec<Arrival>>, Condvar)>;

/// The recording bot.
pub struct Recorder {
    upstream: Upstream,
    shared: Shared,
}

impl Recorder {
    /// Starts the recording bot.
    pub fn start() -> Self {
        let shared = Shared::default();
        let seen = Arc::clone(&shared);
        let upstream = Upstream::start(move |call| {
            let index = note(&seen, &call);
            let done = answer(call, &seen, index);
            change(&seen, index, |arrival| arrival.broke = done.is_err());
            done
        });
        Self {
            upstream: upstream.expect("a port"),
            shared,
        }
    }

    /// Returns the bot's base URL.
    pub fn url(&self) -> String {
        self.upstream.url()
    }

    /// Returns the requests so far, except for health checks.
    pub fn arrivals(&self) -> Vec<Arrival> {
        let arrivals = self.shared.0.lock().expect("a lock").clone();
        arrivals
            .into_iter()
            .filter(|arrival| arrival.target != "/healthz")
            .collect()
    }

    /// Waits for a request and returns it.
    pub fn until(&self, what: &str, holds: impl Fn(&Arrival) -> bool) -> Arrival {
        let arrivals = self.shared.0.lock().expect("a lock");
        let waited = self
            .shared
            .1
            .wait_timeout_while(arrivals, READ_TIMEOUT, |arrivals| {
                !arrivals.iter().any(&holds)
            });
        let (arrivals, _) = waited.expect("a lock");
        arrivals
            .iter()
            .find(|arrival| holds(arrival))
            .unwrap_or_else(|| panic!("not in time: {what}"))
            .clone()
    }
}

fn note(shared: &Shared, call: &Call<'_>) -> usize {
    let mut arrivals = shared.0.lock().expect("a lock");
    let target = call.head.target().to_owned();
    arrivals.push(Arrival {
        head: call.head.raw().to_vec(),
        target,
        ..Arrival::default()
    });
    shared.1.notify_all();
    arrivals.len() - 1
}

fn change(shared: &Shared, index: usize, change: impl FnOnce(&mut Arrival)) {
    change(&mut shared.0.lock().expect("a lock")[index]);
    shared.1.notify_all();
}

fn answer(mut call: Call<'_>, shared: &Shared, index: usize) -> Result<()> {
    match call.head.target() {
        "/refuse" => call.reply.whole(401, JSON, br#"{"error":"unauthorized"}"#),
        "/ignore" => loop {
            std::thread::park();
        },
        "/stream" => {
            let mut chunks = call.reply.chunks(200, "text/event-stream")?;
            loop {
                chunks.send(b": still here\n\n")?;
                std::thread::sleep(PULSE);
            }
        }
        "/idle" => {
            let mut chunks = call.reply.chunks(200, "text/event-stream")?;
            for _ in 0..HALF_AN_HOUR {
                std::thread::sleep(PULSE);
                chunks.send(b": still here\n\n")?;
            }
            chunks.send(b"event: end\n\n")?;
            chunks.end()
        }
        _ => {
            let mut piece = vec![0; PIECE];
            let mut bytes = 0;
            loop {
                let read = call.body.read(&mut piece)?;
                if read == 0 {
                    break;
                }
                bytes += read as u64;
                change(shared, index, |arrival| arrival.body = bytes);
            }
            let trailers = call.body.trailers().to_vec();
            change(shared, index, |arrival| arrival.trailers = trailers);
            call.reply
                .whole(200, JSON, json!({ "bytes": bytes }).to_string().as_bytes())
        }
    }
}
