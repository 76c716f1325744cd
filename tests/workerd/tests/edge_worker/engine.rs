//! A container engine of which the edge runtime sees what a test says: at most one container, which is a small bot of
//! this process. It speaks as much of Docker's API as the runtime asks for.
//!
//! It shows what the object does about containers. That a real engine behaves like this is shown by `tests/edge`.

use std::io::{Read as _, Result, copy};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use ars_upstream::{Call, Upstream};
use serde_json::{Value, json};
use tempfile::TempDir;

const JSON: &str = "application/json";
/// Longest wait for what is about to happen; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of an answer of the bot's beyond which the edge reads none (document 1 section 4.6: what it cannot read).
const ANSWER_LIMIT: usize = 64 * 1024;
/// A port at which nobody listens.
const NOBODYS_PORT: u16 = 9;
/// How a container ends that is killed.
const KILLED: i64 = 137;

/// What a container does from its start on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Manner {
    /// It answers, and ends when it is told to.
    #[default]
    Willing,
    /// It answers, and nothing but a kill ends it.
    Stubborn,
    /// It ends at once, with this code.
    Fails(i64),
}

/// What the bot answers when it is asked for its health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Health {
    /// Its health.
    #[default]
    Told,
    /// Nothing, for as long as this lasts.
    KeptBack,
    /// More than anybody reads.
    TooLong,
}

/// What the engine tells of the container's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Port {
    /// Where the bot listens.
    #[default]
    Open,
    /// One at which nobody listens, as after the end of a container that the engine did not notice.
    Closed,
    /// An error.
    Untold,
}

/// What there is, and what was asked for.
#[derive(Debug, Default)]
pub struct State {
    /// The manner of the next container.
    pub manner: Manner,
    /// What is told of where the container is to be reached.
    pub port: Port,
    /// How often that was asked for.
    pub inspected: usize,
    /// How often everybody was told an error who waited for the end of a container.
    pub lost: usize,
    /// How the bot answers for its health.
    pub health: Health,
    /// How often it was asked for that.
    pub probed: usize,
    /// Whether the bot keeps back whether somebody may restart it.
    pub silent: bool,
    /// How often it was asked that.
    pub asked: usize,
    /// By which names it was asked for anything else, in order.
    pub hosts: Vec<String>,
    /// The environment of each container that was started, in order.
    pub started: Vec<Vec<String>>,
    /// The signals that were sent to any of them, and the word `stop`, in order.
    pub signals: Vec<String>,
    /// How often the end of a container was asked for.
    pub watches: usize,
    /// The container there is, by its number among those that were started; created only when it is not yet among them.
    there: Option<Vec<String>>,
    running: bool,
    stubborn: bool,
    /// How each container ended, in order.
    ends: Vec<i64>,
}

/// The engine.
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
    /// Starts it.
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("engine.sock");
        let shared = Arc::<Shared>::default();
        let of_bot = Arc::clone(&shared);
        let bot = Upstream::start(move |call| bot(call, &of_bot)).unwrap();
        let of_engine = Arc::clone(&shared);
        let api = Upstream::start(move |call| engine(call, &of_engine, bot.address())).unwrap();
        listen(UnixListener::bind(&socket).unwrap(), api.address());
        Self { shared, socket, _dir: dir }
    }

    /// Where the runtime finds it.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What there is.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }

    /// Changes something.
    pub fn set(&self, change: impl FnOnce(&mut State)) {
        self.shared.change(change);
    }

    /// Ends the container that runs.
    pub fn end(&self, code: i64) {
        self.set(|state| state.end(code));
    }

    /// Waits until something holds.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl Fn(&State) -> bool) {
        let waited = self.shared.changed.wait_timeout_while(self.state(), PATIENCE, |state| !holds(state));
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

    /// Waits for the end of the container that is there; none when it cannot be told.
    fn wait(&self) -> Option<i64> {
        let mut state = self.state.lock().unwrap();
        let number = state.ends.len();
        let lost = state.lost;
        state.watches += 1;
        self.changed.notify_all();
        let lasts = |state: &mut State| state.lost == lost && state.ends.len() == number;
        let state = self.changed.wait_while(state, lasts).unwrap();
        state.ends.get(number).copied()
    }
}

impl State {
    fn end(&mut self, code: i64) {
        // One that ended is removed, as the platform does it, and xtask's engine here.
        if self.there.take().is_some() {
            self.running = false;
            self.ends.push(code);
        }
    }

    fn begin(&mut self) -> u16 {
        let Some(env) = self.there.clone().filter(|_| !self.running) else { return 304 };
        self.started.push(env);
        (self.running, self.stubborn) = (true, self.manner == Manner::Stubborn);
        if let Manner::Fails(code) = self.manner {
            self.end(code);
        }
        204
    }

    fn signal(&mut self, name: &str) -> u16 {
        self.signals.push(name.to_owned());
        match name {
            _ if !self.running => return 409,
            "SIGTERM" if self.stubborn => {}
            "SIGTERM" => self.end(0),
            _ => self.end(KILLED),
        }
        204
    }
}

/// The container's bot: its health, and to whatever else it is asked its number.
fn bot(call: Call<'_>, shared: &Shared) -> Result<()> {
    let number = shared.state.lock().unwrap().started.len();
    let body = match call.head.target() {
        "/healthz" => health(number, shared),
        "/admin/restart/authorize" => {
            shared.change(|state| state.asked += 1);
            let state = shared.state.lock().unwrap();
            drop(shared.changed.wait_while(state, |state| state.silent).unwrap());
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
    // What was asked for at that time is what is answered.
    let health = shared.change(|state| {
        state.probed += 1;
        state.health
    });
    let padding = match health {
        Health::Told => String::new(),
        Health::KeptBack => {
            let state = shared.state.lock().unwrap();
            drop(shared.changed.wait_while(state, |state| state.health == Health::KeptBack).unwrap());
            String::new()
        }
        Health::TooLong => " ".repeat(ANSWER_LIMIT),
    };
    let started = format!("t{number}");
    json!({ "ok": true, "inFlight": 0, "draining": false, "startedAt": started, "padding": padding })
}

/// The engine's API, as far as the runtime asks.
fn engine(mut call: Call<'_>, shared: &Shared, bot: SocketAddr) -> Result<()> {
    let mut body = Vec::new();
    call.body.read_to_end(&mut body)?;
    let (path, query) = call.head.target().split_once('?').unwrap_or((call.head.target(), ""));
    let verb = path.rsplit('/').next().unwrap_or_default();
    let (status, told) = match (call.head.method(), verb) {
        ("GET", "json") => shared.change(|state| inspected(state, bot)),
        ("POST", "create") => (shared.change(|state| create(state, &body)), json!({ "Id": "c" })),
        ("POST", "start") => (shared.change(State::begin), json!({})),
        ("POST", "kill") => {
            let name = query.trim_start_matches("signal=").to_owned();
            (shared.change(|state| state.signal(&name)), json!({}))
        }
        ("POST", "stop") => (shared.change(|state| state.signal("stop")), json!({})),
        ("POST", "wait") if shared.state.lock().unwrap().there.is_none() => (404, json!({})),
        ("POST", "wait") => match shared.wait() {
            Some(code) => (200, json!({ "StatusCode": code })),
            None => (500, busy()),
        },
        ("DELETE", _) => {
            shared.change(|state| state.end(KILLED));
            (204, json!({}))
        }
        _ => (501, json!({ "message": "not asked for by the runtime so far" })),
    };
    call.reply.whole(status, JSON, told.to_string().as_bytes())
}

fn inspected(state: &mut State, bot: SocketAddr) -> (u16, Value) {
    state.inspected += 1;
    if state.there.is_none() {
        return (404, json!({}));
    }
    let status = if state.running { "running" } else { "created" };
    let port = match state.port {
        Port::Open => bot.port(),
        Port::Closed => NOBODYS_PORT,
        Port::Untold => return (500, busy()),
    };
    let port = json!([{ "HostIp": "127.0.0.1", "HostPort": port.to_string() }]);
    // One that is only created has none yet, and nobody there could say that he is well.
    let ports = if state.running { json!({ "8080/tcp": port }) } else { json!({}) };
    let ports = json!({ "Ports": ports });
    (200, json!({ "State": { "Status": status, "Running": state.running }, "NetworkSettings": ports }))
}

fn busy() -> Value {
    json!({ "message": "the engine is busy" })
}

fn create(state: &mut State, body: &[u8]) -> u16 {
    if state.there.is_some() {
        return 409;
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let env = body["Env"].as_array().into_iter().flatten();
    state.there = Some(env.filter_map(|line| line.as_str().map(str::to_owned)).collect());
    201
}

/// Passes on what arrives at a socket of the file system to a port.
fn listen(socket: UnixListener, api: SocketAddr) {
    thread::spawn(move || {
        for client in socket.incoming().map_while(Result::ok) {
            // A connection that cannot be passed on is closed, which the runtime notices.
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
