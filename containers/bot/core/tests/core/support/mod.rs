//! Doubles for driving the core in-process.
//!
//! A scripted model, an in-memory store that can fail, and a workspace with scripted commands.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a double that cannot go on fails its test"
)]

mod audit;
mod code_host;
mod ledger;
mod residents;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use ars_agent::{ModelTurn, Part, Role, StopReason, Turn, Usage};
use ars_auth::{Actor, Grants};
use ars_bot_core::{Capabilities, Core, Deps, history::NoHistory, settings::Settings};
use ars_bot_ports::{Choices, IncomingMessage, *};
use ars_events::{ActorKind, Redactor};
use ars_runs::{RunRecord, StoredRun};
use ars_types::{ModelRef, Platform, RunId, StopMode, ThreadKey, UnixMillis, Visibility};
use ars_wire::runs::{EventsPage, ListRequest, ListResponse};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use ars_bot_testkit::{RecordingChannel, ReopenedChannel};
pub use audit::Lines;
pub use code_host::{Failure as HostFailure, MemoryHost, with_host};
pub use ledger::{Fault, Kept, ScriptedLedger};
pub use residents::{MemoryResidents, OUTPUT, with_residents};

/// A clock that advances by a millisecond at each read.
#[derive(Default)]
pub struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> UnixMillis {
        1_000_000 + self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// How a scripted model call behaves.
pub enum Move {
    Say(&'static str),
    Ask(Vec<(&'static str, Value)>),
    Fail(ModelErrorKind),
    HangUntilStopped,
    /// Answers once `release` is notified.
    SayWhenReleased(&'static str),
    /// Fails once `release` is notified.
    FailWhenReleased,
    Panic,
    /// Panics once `release` is notified.
    PanicWhenReleased,
}

#[derive(Default)]
pub struct ScriptedModel {
    pub moves: Mutex<VecDeque<Move>>,
    pub seen: Mutex<Vec<Vec<Turn>>>,
    /// The last call's system prompt.
    pub system: Mutex<String>,
    /// The model in each call.
    pub asked: Mutex<Vec<String>>,
    pub called: tokio::sync::Notify,
    pub release: tokio::sync::Notify,
}

#[async_trait]
impl ModelClient for ScriptedModel {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        _deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        self.seen.lock().unwrap().push(request.turns.to_vec());
        request.system.clone_into(&mut self.system.lock().unwrap());
        self.asked.lock().unwrap().push(request.model.to_owned());
        self.called.notify_one();
        let next = self
            .moves
            .lock()
            .unwrap()
            .pop_front()
            .expect("the script has a move for every call");
        let usage = Usage {
            input_tokens: 1000,
            output_tokens: 100,
            ..Usage::default()
        };
        let turn = |parts, stop| Ok(ModelTurn { parts, stop, usage });
        match next {
            Move::Say(text) => turn(vec![Part::text(text)], StopReason::EndTurn),
            Move::Ask(calls) => {
                let parts =
                    calls
                        .into_iter()
                        .enumerate()
                        .map(|(index, (name, input))| Part::ToolCall {
                            call_id: format!("c{index}"),
                            name: name.into(),
                            input,
                            extra: serde_json::Map::default(),
                        });
                turn(parts.collect(), StopReason::ToolUse)
            }
            Move::Fail(kind) => Err(ModelError {
                kind,
                message: "as scripted".into(),
            }),
            Move::HangUntilStopped => {
                cancel.cancelled().await;
                Err(ModelError {
                    kind: ModelErrorKind::Cancelled,
                    message: "stopped".into(),
                })
            }
            Move::SayWhenReleased(text) => {
                self.release.notified().await;
                turn(vec![Part::text(text)], StopReason::EndTurn)
            }
            Move::FailWhenReleased => {
                self.release.notified().await;
                Err(ModelError {
                    kind: ModelErrorKind::Invalid,
                    message: "as scripted".into(),
                })
            }
            Move::Panic => panic!("as scripted"),
            Move::PanicWhenReleased => {
                self.release.notified().await;
                panic!("as scripted")
            }
        }
    }
}

pub struct OneModel(pub Arc<ScriptedModel>);

impl Models for OneModel {
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        if model.provider() == "scripted" {
            let client: Arc<dyn ModelClient> = Arc::<ScriptedModel>::clone(&self.0);
            return Ok(client);
        }
        Err(UnknownProvider {
            known: "scripted".into(),
        })
    }
}

/// Records every put in order, and fails the next puts as scripted.
#[derive(Default)]
pub struct MemoryStore {
    pub puts: Mutex<Vec<RunRecord>>,
    pub failures: Mutex<VecDeque<StoreErrorKind>>,
    pub down: Mutex<Option<StoreErrorKind>>,
    /// Blocks the next put, after it reported that it began, until notified.
    pub hold: Mutex<Option<Arc<tokio::sync::Notify>>>,
    pub holding: tokio::sync::Notify,
}

#[async_trait]
impl RunStore for MemoryStore {
    async fn put(&self, record: &RunRecord) -> Result<Stored, StoreError> {
        let held = self.hold.lock().unwrap().take();
        if let Some(held) = held {
            self.holding.notify_one();
            held.notified().await;
        }
        let scripted = self.failures.lock().unwrap().pop_front();
        if let Some(kind) = scripted.or(*self.down.lock().unwrap()) {
            return Err(StoreError {
                kind,
                message: "as scripted".into(),
            });
        }
        self.puts.lock().unwrap().push(record.clone());
        Ok(Stored { stored: true })
    }

    async fn get(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        Ok(self
            .puts
            .lock()
            .unwrap()
            .iter()
            .rev()
            .find(|record| record.id == *id)
            .cloned())
    }

    async fn summary(&self, id: &RunId) -> Result<Option<Value>, StoreError> {
        Ok(self
            .get(id)
            .await?
            .map(|record| serde_json::to_value(record).unwrap()))
    }

    async fn list(&self, _request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError> {
        if let Some(kind) = *self.down.lock().unwrap() {
            return Err(StoreError {
                kind,
                message: "as scripted".into(),
            });
        }
        let puts = self.puts.lock().unwrap();
        let item = |record| serde_json::from_value(serde_json::to_value(record).unwrap()).unwrap();
        let mut newest: Vec<&RunRecord> = Vec::new();
        for record in puts.iter().rev() {
            if newest.iter().all(|known| known.id != record.id) {
                newest.push(record);
            }
        }
        let items = newest.into_iter().map(item).collect();
        Ok(ListResponse {
            items,
            next_before: None,
        })
    }

    async fn delete(&self, _id: &RunId) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn events(
        &self,
        _id: &RunId,
        _after_seq: u64,
        _limit: u32,
    ) -> Result<Option<EventsPage>, StoreError> {
        Ok(None)
    }
}

/// A workspace that echoes commands and counts concurrent reads. `exit N` exits with N, `break`
/// fails the sandbox, and `crowd` reports that none is free.
#[derive(Default)]
pub struct EchoWorkspace {
    reading: AtomicI64,
    pub most_reading: AtomicI64,
    /// Git's output for any range. Without it git fails, and for `hang` it never ends.
    pub range: Mutex<Option<String>>,
    /// Notified when a file named `hang` is read, which never ends.
    pub hanging: tokio::sync::Notify,
    /// Notified when a slow tree is requested. It fails once `give_up` is notified.
    pub opening: tokio::sync::Notify,
    pub give_up: tokio::sync::Notify,
    /// The origin, absent before it is created and after it is lost.
    pub own: Mutex<Option<Repository>>,
    /// The remote on the code host.
    pub remote: std::sync::OnceLock<String>,
    /// The former tree was evicted.
    pub is_cloned_again: std::sync::atomic::AtomicBool,
    /// The runs for which it was saved. Saving counts only once `is_saved` is set.
    pub saved_for: Mutex<Vec<RunId>>,
    pub is_saved: std::sync::atomic::AtomicBool,
    /// The checkpoint from which it was made again.
    pub restored_from: std::sync::OnceLock<String>,
    /// How the next lookups and openings fail.
    pub failing: Mutex<VecDeque<WorkspaceError>>,
    /// Repository and ref in each opening.
    pub asked_for: Mutex<Vec<(Option<String>, Option<String>)>>,
}

#[async_trait]
impl Workspace for EchoWorkspace {
    fn repository(&self) -> Option<&str> {
        Some("acme/app")
    }

    fn restored_from(&self) -> Option<&str> {
        self.restored_from.get().map(String::as_str)
    }

    async fn checkpoint(
        &self,
        run: &RunId,
        _cancel: &CancellationToken,
    ) -> Result<Option<Checkpoint>, WorkspaceError> {
        if !self.is_saved.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let mut saved_for = self.saved_for.lock().unwrap();
        saved_for.push(run.clone());
        let (git_ref, commit) = (
            format!("refs/ars/{run}/{}", saved_for.len()),
            "0123456789abcdef".into(),
        );
        Ok(Some(Checkpoint {
            git_ref,
            commit,
            is_new: true,
            withheld: vec!["token.txt".into()],
        }))
    }

    fn origin(&self) -> Option<&str> {
        self.remote.get().map(String::as_str)
    }

    fn is_cloned_again(&self) -> bool {
        self.is_cloned_again.load(Ordering::SeqCst)
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        let at_pull_request = self.remote.get().map(|_| "a".repeat(40));
        Ok(Some(at_pull_request.unwrap_or_else(|| "abc1234def".into())))
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        Ok(String::new())
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        if request.command == "break" {
            return Err(WorkspaceError::Infra("the pipe broke".into()));
        }
        if request.command == "crowd" {
            return Err(WorkspaceError::Busy);
        }
        let exit_code = request
            .command
            .strip_prefix("exit ")
            .and_then(|code| code.parse().ok())
            .unwrap_or(0);
        Ok(ExecOutcome {
            exit_code,
            output: request.command.to_owned(),
            truncated: false,
            ..ExecOutcome::default()
        })
    }

    async fn git(
        &self,
        _request: GitRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        let range = self.range.lock().unwrap().clone();
        if range.as_deref() == Some("hang") {
            std::future::pending::<()>().await;
        }
        let exit_code = if range.is_some() { 0 } else { 128 };
        Ok(GitAnswer {
            exit_code,
            output: range.unwrap_or_default().into(),
            truncated: false,
        })
    }

    async fn read(&self, path: &str, _limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        if path == "hang" {
            self.hanging.notify_one();
            std::future::pending::<()>().await;
        }
        let reading = self.reading.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_reading.fetch_max(reading, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.reading.fetch_sub(1, Ordering::SeqCst);
        Ok((path.as_bytes().to_vec(), path.len() as u64))
    }

    async fn write(&self, _path: &str, _content: &[u8]) -> Result<(), WorkspaceError> {
        Ok(())
    }

    async fn list(&self, _path: &str, _limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        Ok((Vec::new(), false))
    }

    async fn search(
        &self,
        _pattern: &str,
        _path: &str,
        _limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        Ok((Vec::new(), false))
    }
}

pub struct OneWorkspace(pub Arc<EchoWorkspace>);

#[async_trait]
impl WorkspaceProvider for OneWorkspace {
    async fn repository_of(
        &self,
        _thread: &ThreadKey,
    ) -> Result<Option<Repository>, WorkspaceError> {
        self.0
            .failing
            .lock()
            .unwrap()
            .pop_front()
            .map_or(Ok(()), Err)?;
        Ok(self.0.own.lock().unwrap().clone())
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        self.0
            .failing
            .lock()
            .unwrap()
            .pop_front()
            .map_or(Ok(()), Err)?;
        if request
            .repository
            .is_some_and(|repository| repository.origin == "/slow")
        {
            self.0.opening.notify_one();
            tokio::select! {
                () = self.0.give_up.notified() => {}
                () = cancel.cancelled() => {}
            }
            return Err(WorkspaceError::Clone("fatal: the remote hung up".into()));
        }
        if request
            .repository
            .is_some_and(|repository| repository.origin == "/broken")
        {
            return Err(WorkspaceError::Clone("fatal: not a repository".into()));
        }
        let name = request.repository.map(|repository| repository.name.clone());
        self.0
            .asked_for
            .lock()
            .unwrap()
            .push((name, request.git_ref.map(ToString::to_string)));
        if let Some(repository) = request.repository {
            *self.0.own.lock().unwrap() = Some(repository.clone());
        }
        let workspace: Arc<dyn Workspace> = Arc::<EchoWorkspace>::clone(&self.0);
        Ok(workspace)
    }
}

impl ScriptedLedger {
    /// A process in this generation, which can reach every channel.
    pub fn process(self: &Arc<Self>, generation: &str, moves: Vec<Move>) -> World {
        world_with(
            moves,
            self.capability(generation, Arc::new(ReopenedChannel(Arc::default()))),
        )
    }
}

/// A core and the doubles.
pub struct World {
    pub core: Core,
    pub model: Arc<ScriptedModel>,
    pub store: Arc<MemoryStore>,
    pub workspace: Arc<EchoWorkspace>,
}

pub fn world(moves: Vec<Move>) -> World {
    world_with(moves, Capabilities::default())
}

pub fn world_with(moves: Vec<Move>, capabilities: Capabilities) -> World {
    world_of(moves, capabilities, |settings| settings)
}

/// The same, with other settings.
pub fn world_of(
    moves: Vec<Move>,
    capabilities: Capabilities,
    change: impl FnOnce(Settings) -> Settings,
) -> World {
    let store = Arc::new(MemoryStore::default());
    let as_store: Arc<dyn RunStore> = Arc::<MemoryStore>::clone(&store);
    World {
        store,
        ..world_over(as_store, moves, capabilities, change)
    }
}

/// A core without run history.
pub fn world_without_history(moves: Vec<Move>) -> World {
    world_over(
        Arc::new(NoHistory),
        moves,
        Capabilities::default(),
        |settings| settings,
    )
}

/// A core over this history. The doubles' store stays empty.
fn world_over(
    history: Arc<dyn RunStore>,
    moves: Vec<Move>,
    capabilities: Capabilities,
    change: impl FnOnce(Settings) -> Settings,
) -> World {
    let model = Arc::new(ScriptedModel {
        moves: Mutex::new(moves.into()),
        ..ScriptedModel::default()
    });
    let workspace = Arc::new(EchoWorkspace::default());
    let repository = |name: &str, origin: &str| Repository {
        name: name.into(),
        origin: origin.into(),
    };
    let settings = Settings {
        default_model: ModelRef::parse("scripted/m").ok(),
        fallback_model: ModelRef::parse("scripted/second").ok(),
        repositories: vec![
            repository("acme/app", "/app"),
            repository("acme/broken", "/broken"),
            repository("acme/slow", "/slow"),
        ],
        include_context: true,
        ..Settings::default()
    };
    let settings = change(settings);
    let core = Core::new(Deps {
        clock: Arc::new(TickingClock::default()),
        models: Arc::new(OneModel(Arc::clone(&model))),
        workspaces: Arc::new(OneWorkspace(Arc::clone(&workspace))),
        store: history,
        capabilities,
        redactor: Arc::new(Redactor::new(vec!["canary-value".into()])),
        settings,
    });
    World {
        core,
        model,
        store: Arc::default(),
        workspace,
    }
}

pub fn message(text: &str) -> IncomingMessage {
    IncomingMessage {
        actor: Actor::new("http:ann", Grants::default()),
        channel_id: "http:default".into(),
        thread_key: ThreadKey::new(Platform::Http, "default", "default"),
        visibility: Visibility::Machine,
        text: text.into(),
        attachments: Vec::new(),
        received_at: 1_000_000,
        choices: Choices::default(),
        source: None,
        idempotency: None,
        is_confirmed: false,
    }
}

impl World {
    /// The same, on the machine with the thread's tree, so that the run can be resumed.
    #[must_use]
    pub fn with_tree(self) -> Self {
        let app = Repository {
            name: "acme/app".into(),
            origin: "/app".into(),
        };
        *self.workspace.own.lock().unwrap() = Some(app);
        self
    }

    /// Dispatches to the end, record included.
    pub async fn ask(&self, text: &str) -> Arc<RecordingChannel> {
        let io = Arc::new(RecordingChannel::default());
        self.dispatch(text, &io).await;
        self.settle().await;
        io
    }

    /// Dispatches to the reply.
    pub async fn dispatch(&self, text: &str, io: &Arc<RecordingChannel>) {
        let io: Arc<RecordingChannel> = Arc::clone(io);
        self.core.dispatch(message(text), io).await;
    }

    /// Waits until nothing is in flight.
    pub async fn settle(&self) {
        assert!(
            self.core.idle(Duration::from_secs(60)).await,
            "still in flight"
        );
    }

    /// Starts to serve the ledger and to reclaim other processes' runs.
    pub fn keep_ledger(&self) -> JoinHandle<()> {
        let core = self.core.clone();
        tokio::spawn(async move { core.keep_ledger(CancellationToken::new()).await })
    }

    /// Serves the ledger until the reclaimed runs are recorded and over; returns the first record.
    pub async fn end_what_is_left(&self, ledger: &ScriptedLedger) -> RunRecord {
        let keeping = self.keep_ledger();
        let record = ledger.recorded().await;
        while self.core.load().in_flight > 0 {
            tokio::task::yield_now().await;
        }
        keeping.abort();
        record
    }

    /// Lets the model answer, and waits until the request ends.
    pub async fn finish(&self, running: JoinHandle<()>) {
        self.model.release.notify_one();
        running.await.unwrap();
    }

    /// As `finish`, and waits for the record.
    pub async fn finish_and_settle(&self, running: JoinHandle<()>) {
        self.finish(running).await;
        self.settle().await;
    }

    /// Stops every run hard.
    pub fn stop_hard(&self) {
        self.core.registry().stop_all(
            StopMode::Hard,
            &ars_events::Actor::new(ActorKind::Cli, "local"),
        );
    }

    pub fn records(&self) -> Vec<RunRecord> {
        self.store.puts.lock().unwrap().clone()
    }

    pub fn last_record(&self) -> RunRecord {
        self.records().pop().expect("a record was written")
    }
}

/// A request in a task.
pub fn begin(world: &Arc<World>, text: &'static str) -> (Arc<RecordingChannel>, JoinHandle<()>) {
    let io = Arc::new(RecordingChannel::default());
    let running = tokio::spawn({
        let (world, io) = (Arc::clone(world), Arc::clone(&io));
        async move { world.dispatch(text, &io).await }
    });
    (io, running)
}

/// Dispatches a message, and returns at once.
pub fn send(
    world: &Arc<World>,
    message: IncomingMessage,
    io: &Arc<RecordingChannel>,
) -> JoinHandle<()> {
    let (core, io) = (world.core.clone(), Arc::<RecordingChannel>::clone(io));
    tokio::spawn(async move { core.dispatch(message, io).await })
}

/// A run that waits in the first model call.
pub async fn under_way(
    world: &Arc<World>,
    text: &'static str,
) -> (Arc<RecordingChannel>, JoinHandle<()>) {
    let begun = begin(world, text);
    world.model.called.notified().await;
    begun
}

/// Dispatches a message to the reply.
pub async fn say(world: &World, message: IncomingMessage) -> Arc<RecordingChannel> {
    let io = Arc::new(RecordingChannel::default());
    let channel: Arc<RecordingChannel> = Arc::clone(&io);
    world.core.dispatch(message, channel).await;
    io
}

/// Returns `type` or, for notes and tools, the distinguishing field for each event that is not a
/// span.
pub fn outline(record: &RunRecord) -> Vec<String> {
    let outline = record.events.iter().filter_map(|event| {
        let kind = event["type"].as_str()?;
        let detail = event["kind"].as_str().or(event["tool"].as_str());
        (!kind.starts_with("span"))
            .then(|| detail.map_or(kind.to_owned(), |detail| format!("{kind} {detail}")))
    });
    outline.collect()
}

/// Returns the parent span's name for each span with this name.
pub fn parents(record: &RunRecord, name: &str) -> Vec<String> {
    let started = || {
        record
            .events
            .iter()
            .filter(|event| event["type"] == "span_start")
    };
    let parent = |span: &Value| started().find(|start| start["spanId"] == span["parentSpanId"]);
    let of_name = started().filter(|start| start["name"] == name);
    of_name
        .map(|span| {
            parent(span).map_or(String::new(), |parent| {
                parent["name"].as_str().unwrap().to_owned()
            })
        })
        .collect()
}

pub fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

pub fn said(role: Role, text: &str) -> HistoryTurn {
    HistoryTurn {
        role,
        text: text.into(),
        attachments: Vec::new(),
    }
}
