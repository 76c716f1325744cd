//! The load: clients that send one request after another, and the server's cost of them.

use std::fmt::Write as _;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use ars_raw_http::Connection;
use serde_json::Value;

use super::side::Side;
use crate::bench::process::Usage;

/// The one token of the measured Workers, which exist only during the measurement.
pub const TOKEN: &str = "bench";

/// A request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The route.
    pub path: &'static str,
    body: Option<String>,
}

/// Yields the next request of one client.
pub type Source = Box<dyn FnMut() -> Ask + Send>;

impl Ask {
    /// A GET.
    pub fn get(path: &'static str) -> Self {
        Self { path, body: None }
    }

    /// A POST of JSON text.
    pub fn post(path: &'static str, body: String) -> Self {
        Self { path, body: Some(body) }
    }

    /// A POST of a JSON value.
    pub fn json(path: &'static str, body: &Value) -> Self {
        Self::post(path, body.to_string())
    }

    /// Returns the request's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = match &self.body {
            None => write!(out, "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path),
            Some(body) => write!(
                out,
                "POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                self.path,
                body.len()
            ),
        };
        out.into_bytes()
    }
}

/// Yields the same request each time.
pub fn always(ask: Ask) -> Source {
    Box::new(move || ask.clone())
}

/// One row of the table.
pub struct Row {
    /// Its name in the table.
    pub name: &'static str,
    /// Clients at once.
    pub clients: usize,
    /// Makes the requests of a client by its number; each side gets its own from the beginning.
    pub source: Box<dyn Fn(usize) -> Source>,
}

impl Row {
    /// A row of one client that repeats a request.
    pub fn repeated(name: &'static str, ask: Ask) -> Self {
        Self { name, clients: 1, source: Box::new(move |_| always(ask.clone())) }
    }

    /// A row of one client.
    pub fn single(name: &'static str, source: impl Fn() -> Source + 'static) -> Self {
        Self { name, clients: 1, source: Box::new(move |_| source()) }
    }

    /// Returns a source for each client.
    pub fn sources(&self) -> Vec<Source> {
        (0..self.clients).map(&self.source).collect()
    }
}

/// One slice of load, or the sum of several.
#[derive(Debug, Default, Clone)]
pub struct Slice {
    /// Latency of each request.
    pub latencies: Vec<Duration>,
    /// Length of the slice.
    pub wall: Duration,
    /// CPU of the server's process.
    pub cpu: Duration,
    /// Time for which the server's threads were ready and waited for their core.
    pub delayed: Duration,
}

impl Slice {
    /// Adds another slice.
    pub fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.delayed += other.delayed;
    }

    /// Returns the share of the time for which the server waited for its core.
    pub fn delayed_share(&self) -> f64 {
        self.delayed.as_secs_f64() / self.wall.as_secs_f64()
    }
}

/// Lets each client send one request after another for this long.
pub fn slice(side: &Side, clients: &mut [Source], length: Duration) -> Result<Slice> {
    let ready = &Barrier::new(clients.len());
    let before = Usage::of(side.pid)?;
    let began = Instant::now();
    let latencies = thread::scope(|scope| {
        let start = |source| scope.spawn(move || run(side, source, ready, length));
        let threads: Vec<_> = clients.iter_mut().map(start).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().map_err(|_| anyhow!("a client panicked"))?
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let wall = began.elapsed();
    let used = Usage::of(side.pid)?.since(before);
    Ok(Slice { latencies: latencies.concat(), wall, cpu: used.own, delayed: used.delayed })
}

fn run(side: &Side, source: &mut Source, ready: &Barrier, length: Duration) -> Result<Vec<Duration>> {
    let connection = Connection::open(side.address);
    ready.wait();
    let mut connection = connection?;
    let mut latencies = Vec::new();
    let began = Instant::now();
    while began.elapsed() < length {
        let ask = source();
        let request = ask.bytes();
        let sent = Instant::now();
        let (status, _) = connection.exchange(&request)?;
        latencies.push(sent.elapsed());
        ensure!(status == 200, "{} answered {status}", ask.path);
    }
    Ok(latencies)
}
