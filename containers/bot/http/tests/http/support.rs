//! A complete bot behind real HTTP on a free port, with the real core and router.
//! The model is scripted, and the store is in memory and can fail.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a double that cannot go on fails its test"
)]

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use ars_agent::{ModelTurn, Part, StopReason, Usage};
use ars_auth::{Secret, Set, TokenMap};
use ars_bot_core::{
    Capabilities, Core, Deps,
    history::NoHistory,
    registry::{RunFacts, RunHandle},
    settings::Settings,
};
use ars_bot_http::{
    ConnectionLimits, Dashboard, HttpState, Routes, StreamLimits, github, ingress, mcp, router,
    serve,
};
use ars_bot_ports::{
    Checkpoint, Clock, Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, ModelClient,
    ModelDelta, ModelError, ModelErrorKind, ModelRequest, Models, Repository, RunStore, SearchHit,
    StoreError, StoreErrorKind, Stored, UnknownProvider, Workspace, WorkspaceError,
    WorkspaceProvider, WorkspaceRequest,
};
use ars_events::{EventBody, Redactor};
use ars_runs::{
    RunRecord, StoredRun,
    visible_to::{self, Subject},
};
use ars_types::{ModelRef, Platform, RunId, RunStatus, ThreadKey, UnixMillis, Visibility};
use ars_wire::{
    Moment,
    health::Build,
    runs::{Cursor, EventsPage, ListRequest, ListResponse},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// `good` may dispatch, `pinned` only in channel `ci`, `reader` may not dispatch.
pub const TOKENS: &str = r#"{
    "good": {"subject": "ann"},
    "pinned": {"subject": "bot", "channel": "ci"},
    "reader": {"subject": "bo", "scopes": ["runs:read"]}
}"#;

/// A clock that tests move. It starts at a time that the pages can show.
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixMillis {
        self.0.load(Ordering::Relaxed)
    }
}

/// Answers with the next script line. With `gated` each answer waits for the test.
#[derive(Default)]
pub struct ScriptedModel {
    pub lines: Mutex<VecDeque<&'static str>>,
    pub gated: AtomicBool,
    pub gate: Notify,
    pub called: Notify,
    pub asked: Mutex<Vec<String>>,
}

#[async_trait]
impl ModelClient for ScriptedModel {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        _deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        self.asked
            .lock()
            .unwrap()
            .push(serde_json::to_string(request.turns).unwrap());
        self.called.notify_one();
        if self.gated.load(Ordering::Relaxed) {
            tokio::select! {
                () = self.gate.notified() => {}
                () = cancel.cancelled() => {
                    return Err(ModelError { kind: ModelErrorKind::Cancelled, message: "stopped".into() });
                }
            }
        }
        match self.lines.lock().unwrap().pop_front() {
            Some(line) => Ok(ModelTurn {
                parts: vec![Part::text(line)],
                stop: StopReason::EndTurn,
                usage: Usage::default(),
            }),
            None => Err(ModelError {
                kind: ModelErrorKind::Unreachable,
                message: "no line left".into(),
            }),
        }
    }
}

/// Serves a single model. Panics for the provider `panic`.
struct OneModel(Arc<ScriptedModel>);

impl Models for OneModel {
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        assert_ne!(model.provider(), "panic", "as scripted");
        let client: Arc<dyn ModelClient> = Arc::<ScriptedModel>::clone(&self.0);
        Ok(client)
    }
}

/// Has working trees for the threads for which a test inserted a diff. Every other workspace is
/// rejected.
#[derive(Default)]
pub struct Trees(Mutex<BTreeMap<String, &'static str>>);

impl Trees {
    pub fn insert(&self, run: &RunHandle, diff: &'static str) {
        self.0
            .lock()
            .unwrap()
            .insert(run.view().facts.thread_key.to_string(), diff);
    }

    fn diff(&self, thread: &ThreadKey) -> Option<&'static str> {
        self.0.lock().unwrap().get(&thread.to_string()).copied()
    }
}

#[async_trait]
impl WorkspaceProvider for Trees {
    async fn repository_of(
        &self,
        thread: &ThreadKey,
    ) -> Result<Option<Repository>, WorkspaceError> {
        let repository = Repository {
            name: "acme/app".into(),
            origin: "origin".into(),
        };
        Ok(self.diff(thread).map(|_| repository))
    }

    async fn restore(
        &self,
        _thread: &ThreadKey,
        run: &RunId,
        _cancel: &CancellationToken,
    ) -> Result<Checkpoint, WorkspaceError> {
        let (git_ref, commit) = (format!("refs/ars/{run}/1"), "abc".into());
        Ok(Checkpoint {
            git_ref,
            commit,
            is_new: false,
            withheld: Vec::new(),
        })
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        match self.diff(request.thread) {
            Some(diff) => Ok(Arc::new(Tree(diff))),
            None => Err(WorkspaceError::Refused("no workspaces here".into())),
        }
    }
}

/// A working tree that can only be compared.
struct Tree(&'static str);

fn only_compared<T>() -> Result<T, WorkspaceError> {
    Err(WorkspaceError::Refused(
        "this tree can only be compared".into(),
    ))
}

#[async_trait]
impl Workspace for Tree {
    fn repository(&self) -> Option<&str> {
        Some("acme/app")
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        Ok(None)
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        Ok(self.0.to_owned())
    }

    async fn exec(
        &self,
        _: ExecRequest<'_>,
        _: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        only_compared()
    }

    async fn git(
        &self,
        _: GitRequest<'_>,
        _: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        only_compared()
    }

    async fn read(&self, _: &str, _: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        only_compared()
    }

    async fn write(&self, _: &str, _: &[u8]) -> Result<(), WorkspaceError> {
        only_compared()
    }

    async fn list(&self, _: &str, _: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        only_compared()
    }

    async fn search(
        &self,
        _: &str,
        _: &str,
        _: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        only_compared()
    }
}

/// Stores records by id and filters lists like the real store. Every request fails while `down`.
#[derive(Default)]
pub struct MemoryStore {
    pub records: Mutex<BTreeMap<String, RunRecord>>,
    pub down: AtomicBool,
}

impl MemoryStore {
    fn up(&self) -> Result<(), StoreError> {
        if self.down.load(Ordering::Relaxed) {
            return Err(StoreError {
                kind: StoreErrorKind::Permanent,
                message: "as scripted".into(),
            });
        }
        Ok(())
    }

    pub fn insert(&self, record: RunRecord) {
        self.records
            .lock()
            .unwrap()
            .insert(record.id.to_string(), record);
    }
}

#[async_trait]
impl RunStore for MemoryStore {
    async fn put(&self, record: &RunRecord) -> Result<Stored, StoreError> {
        self.up()?;
        self.insert(record.clone());
        Ok(Stored { stored: true })
    }

    async fn get(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        self.up()?;
        Ok(self.records.lock().unwrap().get(id.as_str()).cloned())
    }

    async fn summary(&self, id: &RunId) -> Result<Option<Value>, StoreError> {
        Ok(self.get(id).await?.as_ref().map(summary))
    }

    async fn delete(&self, _id: &RunId) -> Result<bool, StoreError> {
        self.up()?;
        Ok(false)
    }

    async fn list(&self, request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError> {
        self.up()?;
        let mut rows: Vec<RunRecord> = self.records.lock().unwrap().values().cloned().collect();
        rows.sort_by(|a, b| (b.finished_at, b.id.as_str()).cmp(&(a.finished_at, a.id.as_str())));
        if let (Some(before), Some(id)) = (request.before, &request.before_id) {
            rows.retain(|row| {
                (Moment::from(row.finished_at), row.id.as_str()) < (before, id.as_str())
            });
        }
        let is = |wanted: &Option<String>, own: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| own == Some(wanted))
        };
        rows.retain(|row| {
            is(&request.agent, row.agent.as_deref()) && is(&request.channel, Some(&row.channel_id))
        });
        if let Some(filter) = &request.visible_to {
            let filter = visible_to::parse(filter).unwrap();
            rows.retain(|row| {
                filter.allows(&Subject {
                    channel_id: &row.channel_id,
                    user_id: &row.user_id,
                    repo: row.repo.as_deref(),
                    visibility: row.channel_visibility,
                })
            });
        }
        let limit = request.limit.unwrap_or(50) as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more);
        let next_before = last.map(|row| Cursor {
            finished_at: row.finished_at.into(),
            id: row.id.clone(),
        });
        let items = rows
            .iter()
            .map(|row| serde_json::from_value(summary(row)).unwrap())
            .collect();
        Ok(ListResponse { items, next_before })
    }

    async fn events(
        &self,
        id: &RunId,
        after: u64,
        limit: u32,
    ) -> Result<Option<EventsPage>, StoreError> {
        let Some(record) = self.get(id).await? else {
            return Ok(None);
        };
        let seq = |event: &Value| event["seq"].as_u64().unwrap_or_default();
        let mut events: Vec<Value> = record
            .events
            .into_iter()
            .filter(|event| seq(event) > after)
            .collect();
        let has_more = events.len() > limit as usize;
        events.truncate(limit as usize);
        let next_after_seq = events.last().filter(|_| has_more).map(seq);
        Ok(Some(EventsPage {
            events,
            next_after_seq,
        }))
    }
}

fn summary(record: &RunRecord) -> Value {
    let mut summary = serde_json::to_value(record).unwrap();
    summary.as_object_mut().unwrap().remove("events");
    summary
}

/// Settings for a bot with an address for others.
pub fn public() -> Settings {
    Settings {
        public_base_url: Some("https://bot.example.com/".into()),
        ..Settings::default()
    }
}

/// A run page gate that admits this actor by the secret `look`.
pub fn by_token(actor: &str) -> Dashboard {
    Dashboard::Token {
        secret: Secret::parse(Some("look".into())).unwrap(),
        actor: actor.into(),
    }
}

/// A listening bot with test doubles.
pub struct Bot {
    pub core: Core,
    pub clock: Arc<ManualClock>,
    pub model: Arc<ScriptedModel>,
    pub store: Arc<MemoryStore>,
    pub trees: Arc<Trees>,
    pub address: SocketAddr,
    /// Notified instead of ending the process.
    pub crashed: Arc<Notify>,
    shutdown: CancellationToken,
    server: Option<JoinHandle<()>>,
}

/// Secret that these bots' edge has.
pub const EDGE_SECRET: &str = "edge-secret-9d21";

/// Returns the routes of all surfaces, without webhooks.
pub fn surfaces() -> Vec<Routes> {
    vec![ingress::routes(), mcp::routes(), github::routes(None)]
}

impl Bot {
    /// Starts a bot with the tokens in [`TOKENS`].
    pub async fn start() -> Self {
        Self::start_with(TOKENS, Settings::default()).await
    }

    /// Starts a bot with these tokens and settings. The default model is the scripted model.
    pub async fn start_with(tokens: &str, settings: Settings) -> Self {
        Self::behind(Dashboard::default(), tokens, settings).await
    }

    /// Starts a bot with another run page gate.
    pub async fn behind(dashboard: Dashboard, tokens: &str, settings: Settings) -> Self {
        Self::with_capabilities(dashboard, tokens, settings, Capabilities::default()).await
    }

    /// Starts a bot without run history.
    pub async fn without_history() -> Self {
        let (gate, tokens) = (Dashboard::default(), TOKENS);
        let history = Some(Arc::new(NoHistory) as Arc<dyn RunStore>);
        Self::over(
            history,
            gate,
            tokens,
            Settings::default(),
            Capabilities::default(),
            Default::default(),
        )
        .await
    }

    /// Starts a bot with these limits.
    pub async fn within(limits: ConnectionLimits, streams: StreamLimits) -> Self {
        Self::gated_within(Dashboard::default(), limits, streams).await
    }

    /// Starts a bot with this mode and these limits.
    pub async fn gated_within(
        dashboard: Dashboard,
        limits: ConnectionLimits,
        streams: StreamLimits,
    ) -> Self {
        let capabilities = Capabilities::default();
        Self::of(
            dashboard,
            TOKENS,
            Settings::default(),
            capabilities,
            (limits, streams),
        )
        .await
    }

    /// Starts a bot with these capabilities.
    pub async fn with_capabilities(
        dashboard: Dashboard,
        tokens: &str,
        settings: Settings,
        capabilities: Capabilities,
    ) -> Self {
        Self::of(
            dashboard,
            tokens,
            settings,
            capabilities,
            Default::default(),
        )
        .await
    }

    /// Starts a bot with these capabilities and limits.
    pub async fn of(
        dashboard: Dashboard,
        tokens: &str,
        settings: Settings,
        capabilities: Capabilities,
        limits: (ConnectionLimits, StreamLimits),
    ) -> Self {
        Self::over(None, dashboard, tokens, settings, capabilities, limits).await
    }

    /// Starts a bot over this history, or over a double.
    async fn over(
        history: Option<Arc<dyn RunStore>>,
        dashboard: Dashboard,
        tokens: &str,
        settings: Settings,
        capabilities: Capabilities,
        (limits, streams): (ConnectionLimits, StreamLimits),
    ) -> Self {
        let mut settings = settings;
        if matches!(dashboard, Dashboard::Loopback) {
            // Runs in these tests belong to the HTTP ingress; no session reads them without their
            // channel.
            settings
                .grants
                .entry("access:loopback".to_owned())
                .or_default()
                .channels = Set::All;
        }
        let clock = Arc::new(ManualClock(AtomicI64::new(1_760_000_000_000)));
        let model = Arc::new(ScriptedModel::default());
        let store = Arc::new(MemoryStore::default());
        let trees = Arc::new(Trees::default());
        let (as_clock, as_store): (Arc<dyn Clock>, Arc<dyn RunStore>) = (
            Arc::<ManualClock>::clone(&clock),
            Arc::<MemoryStore>::clone(&store),
        );
        let core = Core::new(Deps {
            clock: as_clock,
            models: Arc::new(OneModel(Arc::clone(&model))),
            workspaces: Arc::<Trees>::clone(&trees),
            store: history.unwrap_or(as_store),
            capabilities,
            redactor: Arc::new(Redactor::new(Vec::new())),
            settings: Settings {
                default_model: ModelRef::parse("scripted/m").ok(),
                ..settings
            },
        });
        let tokens = Arc::new(TokenMap::parse(Some(tokens)).map);
        let build = Build {
            commit: "abc123".into(),
            built_at: None,
        };
        let crashed = Arc::new(Notify::new());
        let ended = Arc::clone(&crashed);
        let state = HttpState::new(core.clone(), tokens, build)
            .with_metrics(|| "ars_in_flight 0\n".to_owned());
        let state = state.with_dashboard(dashboard).with_stream_limits(streams);
        let state = match &limits.peer_header {
            Some(name) => state.with_peer_header(name.clone()),
            None => state,
        };
        let edge_secret = Secret::parse(Some(EDGE_SECRET.to_owned())).unwrap();
        let state = state.with_edge_secret(edge_secret);
        let state = state.with_crash(move || ended.notify_one());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let server = tokio::spawn(serve(
            listener,
            router(state, surfaces()),
            limits,
            shutdown.clone().cancelled_owned(),
        ));
        Self {
            core,
            clock,
            model,
            store,
            trees,
            address,
            crashed,
            shutdown,
            server: Some(server),
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Shuts the server down as a deployment does.
    pub async fn stop(&mut self) {
        self.shutdown.cancel();
        self.server.take().expect("stopped once").await.unwrap();
    }

    pub fn script(&self, lines: &[&'static str]) {
        self.model.lines.lock().unwrap().extend(lines);
    }

    /// Creates a run without a driver: the test publishes the events.
    pub fn run(&self, label: &str, model: &str) -> RunHandle {
        self.run_as(self.core.registry().mint(), label, model)
    }

    /// Creates a run with this id.
    pub fn run_as(&self, id: RunId, label: &str, model: &str) -> RunHandle {
        self.create(id, label, label, model)
    }

    /// Creates a run in a thread in channel `default`.
    pub fn run_in(&self, thread: &str, label: &str, model: &str) -> RunHandle {
        self.create(self.core.registry().mint(), thread, label, model)
    }

    fn create(&self, id: RunId, thread: &str, label: &str, model: &str) -> RunHandle {
        let facts = RunFacts {
            label: label.into(),
            agent: "coding".into(),
            model: Some(model.into()),
            channel_id: "http:default".into(),
            user_id: "http:ann".into(),
            thread_key: ThreadKey::new(Platform::Http, "default", thread),
            visibility: Visibility::Machine,
            repo: Some("acme/app".into()),
            received_at: self.clock.now(),
        };
        self.core.registry().create(id, facts).unwrap()
    }
}

/// Returns the path to a live run's page with the token.
pub fn live_path(run: &RunHandle) -> String {
    format!("/runs/{}?t={}", run.id(), run.view().token)
}

/// Publishes prose on a run.
pub fn say(run: &RunHandle, text: &str) {
    run.publish(EventBody::Assistant { text: text.into() });
}

/// Returns a finished run as the history stores it.
pub fn record(id: &str, finished_at: UnixMillis, events: &[Value]) -> RunRecord {
    serde_json::from_value(json!({
        "id": id, "label": format!("label of {id}"), "agent": "coding", "model": "scripted/m",
        "channelId": "http:default", "userId": "http:ann", "threadKey": "http:default:default",
        "channelVisibility": "machine", "startedAt": finished_at - 5000, "finishedAt": finished_at,
        "status": RunStatus::Completed, "eventCount": events.len(), "storedEventCount": events.len(),
        "truncated": false, "events": events, "diagnosis": {"verdict": "stored"},
    }))
    .unwrap()
}
