//! A fake container engine with the part of Docker's API that the runtime uses.
//! It has at most one container, which is a fake bot in this process.
//!
//! It tests the object's container handling. `tests/container` shows that a real engine behaves like this.

use std::io::{Read as _, Result, copy};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use ars_raw_http::{Call, Upstream};
use serde_json::{Value, json};
use tempfile::TempDir;

const JSON: &str = "application/json";
/// Timeout for an expected change.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum bytes that the edge reads from a bot's response.
const ANSWER_LIMIT: usize = 64 * 1024;
/// A port without a listener.
const CLOSED_PORT: u16 = 9;
/// Exit code when a container was killed.
const KILLED: i64 = 137;

/// How a container behaves after it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behavior {
    /// Answers, and exits on a signal.
    #[default]
    Graceful,
    /// Answers, and ignores every signal but a kill.
    IgnoresSignals,
    /// Exits at once with this code.
    Exits(i64),
}

/// The bot's answer to a health probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Health {
    /// Answers normally.
    #[default]
    Normal,
    /// No answer while this is set.
    Withheld,
    /// An answer beyond the edge's limit.
    TooLong,
}

/// The engine's answer about the container's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Port {
    /// Listens on the bot's port.
    #[default]
    Open,
    /// A port without a listener, as after an exit that the engine did not notice.
    Closed,
    /// Answers with an error.
    Failing,
}

/// Engine state, and the calls it received.
#[derive(Debug, Default)]
pub struct State {
    /// How the next container behaves.
    pub behavior: Behavior,
    /// Answer about the container's port.
    pub port: Port,
    /// How many inspections were made.
    pub inspected: usize,
    /// How often all waits for the container's end failed.
    pub lost_watches: usize,
    /// Answer to health probes.
    pub health: Health,
    /// How many health probes were made.
    pub probed: usize,
    /// Whether the bot does not answer requests for a restart permission.
    pub withholds_permission: bool,
    /// How many restart permission requests were made.
    pub permission_requests: usize,
    /// Host names in all other requests, in order.
    pub hosts: Vec<String>,
    /// Each started container's environment, in order.
    pub started: Vec<Vec<String>>,
    /// Signals sent to any container, and the word `stop`, in order.
    pub signals: Vec<String>,
    /// How many waits for a container's end were made.
    pub watches: usize,
    /// The existing container's environment. It is only created, not started, if it is not in `started`.
    existing: Option<Vec<String>>,
    running: bool,
    ignores_signals: bool,
    /// Exit codes, in order.
    ends: Vec<i64>,
}

/// The fake container engine.
pub struct Engine {
    shared: Arc<Shared>,
    socket: PathBuf,
    _dir: TempDir,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Engine {
    /// Starts the engine on a socket.
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("engine.sock");
        let shared = Arc::<Shared>::default();
        let of_bot = Arc::clone(&shared);
        let bot = Upstream::start(move |call| bot(call, &of_bot)).unwrap();
        let of_engine = Arc::clone(&shared);
        let api = Upstream::start(move |call| engine(call, &of_engine, bot.address())).unwrap();
        listen(UnixListener::bind(&socket).unwrap(), api.address());
        Self {
            shared,
            socket,
            _dir: dir,
        }
    }

    /// Returns the path to the API's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the locked state.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }

    /// Changes the engine state.
    pub fn set(&self, change: impl FnOnce(&mut State)) {
        self.shared.change(change);
    }

    /// Ends the running container.
    pub fn end(&self, code: i64) {
        self.set(|state| state.end(code));
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl Fn(&State) -> bool) {
        let waited = self
            .shared
            .changed
            .wait_timeout_while(self.state(), TIMEOUT, |state| !holds(state));
        let (state, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "not in time: {what}: {state:?}");
    }
}

impl Shared {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
        changed
    }

    /// Waits for the container's end. Returns `None` if the wait has to fail.
    fn wait(&self) -> Option<i64> {
        let mut state = self.state.lock().unwrap();
        let number = state.ends.len();
        let lost_watches = state.lost_watches;
        state.watches += 1;
        self.changed.notify_all();
        let lasts =
            |state: &mut State| state.lost_watches == lost_watches && state.ends.len() == number;
        let state = self.changed.wait_while(state, lasts).unwrap();
        state.ends.get(number).copied()
    }
}

impl State {
    fn end(&mut self, code: i64) {
        // An ended container is removed, as on the platform.
        if self.existing.take().is_some() {
            self.running = false;
            self.ends.push(code);
        }
    }

    fn begin(&mut self) -> u16 {
        let Some(env) = self.existing.clone().filter(|_| !self.running) else {
            return 304;
        };
        self.started.push(env);
        (self.running, self.ignores_signals) = (true, self.behavior == Behavior::IgnoresSignals);
        if let Behavior::Exits(code) = self.behavior {
            self.end(code);
        }
        204
    }

    fn signal(&mut self, name: &str) -> u16 {
        self.signals.push(name.to_owned());
        match name {
            _ if !self.running => return 409,
            "SIGTERM" if self.ignores_signals => {}
            "SIGTERM" => self.end(0),
            _ => self.end(KILLED),
        }
        204
    }
}

/// The container's bot: answers health probes, and all other requests with the container's number.
fn bot(call: Call<'_>, shared: &Shared) -> Result<()> {
    let number = shared.state.lock().unwrap().started.len();
    let body = match call.head.target() {
        "/healthz" => health(number, shared),
        "/admin/restart/authorize" => {
            shared.change(|state| state.permission_requests += 1);
            let state = shared.state.lock().unwrap();
            drop(
                shared
                    .changed
                    .wait_while(state, |state| state.withholds_permission)
                    .unwrap(),
            );
            json!({ "ok": true, "subject": "ann" })
        }
        _ => {
            let host = call.head.field("host").unwrap_or_default().to_owned();
            shared.change(|state| state.hosts.push(host));
            json!({ "number": number })
        }
    };
    call.reply.whole(200, JSON, body.to_string().as_bytes())
}

fn health(number: usize, shared: &Shared) -> Value {
    // The response is the health at request time.
    let health = shared.change(|state| {
        state.probed += 1;
        state.health
    });
    let padding = match health {
        Health::Normal => String::new(),
        Health::Withheld => {
            let state = shared.state.lock().unwrap();
            drop(
                shared
                    .changed
                    .wait_while(state, |state| state.health == Health::Withheld)
                    .unwrap(),
            );
            String::new()
        }
        Health::TooLong => " ".repeat(ANSWER_LIMIT),
    };
    let started = format!("t{number}");
    json!({ "ok": true, "inFlight": 0, "draining": false, "startedAt": started, "padding": padding })
}

/// Serves the part of the engine's API that the runtime uses.
fn engine(mut call: Call<'_>, shared: &Shared, bot: SocketAddr) -> Result<()> {
    let mut body = Vec::new();
    call.body.read_to_end(&mut body)?;
    let (path, query) = call
        .head
        .target()
        .split_once('?')
        .unwrap_or((call.head.target(), ""));
    let verb = path.rsplit('/').next().unwrap_or_default();
    let (status, body) = match (call.head.method(), verb) {
        ("GET", "json") => shared.change(|state| inspected(state, bot)),
        ("POST", "create") => (
            shared.change(|state| create(state, &body)),
            json!({ "Id": "c" }),
        ),
        ("POST", "start") => (shared.change(State::begin), json!({})),
        ("POST", "kill") => {
            let name = query.trim_start_matches("signal=").to_owned();
            (shared.change(|state| state.signal(&name)), json!({}))
        }
        ("POST", "stop") => (shared.change(|state| state.signal("stop")), json!({})),
        ("POST", "wait") if shared.state.lock().unwrap().existing.is_none() => (404, json!({})),
        ("POST", "wait") => match shared.wait() {
            Some(code) => (200, json!({ "StatusCode": code })),
            None => (500, busy()),
        },
        ("DELETE", _) => {
            shared.change(|state| state.end(KILLED));
            (204, json!({}))
        }
        _ => (501, json!({ "message": "not used by the runtime so far" })),
    };
    call.reply.whole(status, JSON, body.to_string().as_bytes())
}

fn inspected(state: &mut State, bot: SocketAddr) -> (u16, Value) {
    state.inspected += 1;
    if state.existing.is_none() {
        return (404, json!({}));
    }
    let status = if state.running { "running" } else { "created" };
    let port = match state.port {
        Port::Open => bot.port(),
        Port::Closed => CLOSED_PORT,
        Port::Failing => return (500, busy()),
    };
    let port = json!([{ "HostIp": "127.0.0.1", "HostPort": port.to_string() }]);
    // A container that is only created has no port.
    let ports = if state.running {
        json!({ "8080/tcp": port })
    } else {
        json!({})
    };
    let ports = json!({ "Ports": ports });
    (
        200,
        json!({ "State": { "Status": status, "Running": state.running }, "NetworkSettings": ports }),
    )
}

fn busy() -> Value {
    json!({ "message": "the engine is busy" })
}

fn create(state: &mut State, body: &[u8]) -> u16 {
    if state.existing.is_some() {
        return 409;
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let env = body["Env"].as_array().into_iter().flatten();
    state.existing = Some(
        env.filter_map(|line| line.as_str().map(str::to_owned))
            .collect(),
    );
    201
}

/// Forwards connections from a Unix socket to a port.
fn listen(socket: UnixListener, api: SocketAddr) {
    thread::spawn(move || {
        for client in socket.incoming().map_while(Result::ok) {
            // A failed connection is closed, which the runtime notices.
            drop(pass(client, api));
        }
    });
}

fn pass(client: UnixStream, api: SocketAddr) -> Result<()> {
    let server = TcpStream::connect(api)?;
    let mut from = client.try_clone()?;
    let mut to = server.try_clone()?;
    thread::spawn(move || {
        drop(copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Write));
    });
    let mut from = server;
    let mut to = client;
    thread::spawn(move || {
        drop(copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Write));
    });
    Ok(())
}
