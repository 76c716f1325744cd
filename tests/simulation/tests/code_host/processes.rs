//! Processes in an installation that are killed: stores, trees and code host outlast them.
//!
//! Each process is a separate runtime. A kill drops it with everything in flight.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use ars_agent::{ModelTurn, Part, Role, StopReason, Usage};
use ars_auth::{Actor, Grants, Secret, Set, TokenMap};
use ars_bot_adapters::stores::{Client, StoreResponse, Transport};
use ars_bot_core::{
    Capabilities, Core, Deps, LedgerDeps,
    commands::CommandDeps,
    live::LiveStores,
    settings::{ProposalSettings, Settings},
};
use ars_bot_http::{
    HttpState,
    github::{self, CommentChannel, Webhooks},
    router,
};
use ars_bot_ports::{
    Channel, Channels, Clock, CodeHost, IncomingMessage, ModelClient, ModelDelta, ModelError,
    ModelRequest, Models, StoreError, UnknownProvider,
};
use ars_bot_testkit::RecordingChannel;
use ars_events::Redactor;
use ars_testkit::{
    NativeState,
    github::{Delivered, FakeGitHub, Hang},
};
use ars_types::{Generation, ModelRef, RepoSlug, UnixMillis};
use ars_wire::{
    health::Build,
    ledger::LiveRun,
    state::{Route, RunVerb, ScheduleVerb},
};
use async_trait::async_trait;
use axum::{Router, body::Body, http::Request};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{runtime::Runtime, sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::support::{adapter, fake_host, message, settings, trees};

/// Secret that signs webhooks.
pub const WEBHOOK_SECRET: &str = "canary-webhook";
/// Longer than a lease.
const LAPSED_MS: i64 = 45_000;
/// Actor for the weekly schedule.
const PROPOSER: &str = "schedule:self-improvement";
/// More issues than any test has patterns.
const TOP: usize = 10;
/// Time limit for every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// A single model answer.
#[derive(Clone)]
pub enum Step {
    Say(String),
    Call(&'static str, Value),
    /// Says a text once the host received this request.
    SayBehind(&'static str, &'static str),
}

/// What outlasts every process.
pub struct Installation {
    pub fake: Arc<FakeGitHub>,
    pub replies: Arc<RecordingChannel>,
    shared: Arc<Shared>,
    folder: TempDir,
    processes: AtomicU32,
    /// The fake host's runtime.
    runtime: Runtime,
}

struct Shared {
    fake: Arc<FakeGitHub>,
    state: Mutex<NativeState>,
    now: AtomicI64,
    /// The current run's answers, by how many answers came before.
    script: Mutex<Vec<Step>>,
    model_calls: AtomicU32,
    /// The request to the stores that hangs.
    hang: Mutex<Option<StoreHang>>,
}

/// Words in a request, where it hangs, and the receiver's other end.
type StoreHang = (String, Hang, oneshot::Sender<()>);

impl Shared {
    /// Removes and returns the hang for a store request, if it hangs.
    fn take_hang(&self, line: &str) -> Option<(Hang, oneshot::Sender<()>)> {
        let is_this =
            |(words, ..): &mut StoreHang| words.split(' ').all(|word| line.contains(word));
        let (_, hang, reached) = self.hang.lock().unwrap().take_if(is_this)?;
        Some((hang, reached))
    }
}

/// A process in the installation.
pub struct Process {
    runtime: Runtime,
    core: Core,
    router: Router,
    is_dead: Arc<AtomicBool>,
}

impl Clock for Shared {
    fn now(&self) -> UnixMillis {
        self.now.load(Ordering::SeqCst)
    }
}

/// A process's connection to the stores. After a kill no request arrives.
struct Wire {
    shared: Arc<Shared>,
    is_dead: Arc<AtomicBool>,
}

#[async_trait]
impl Transport for Wire {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        if self.is_dead.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        let shared = &self.shared;
        let hang = shared.take_hang(&format!("{} {body}", route.path()));
        let is_performed = !matches!(hang, Some((Hang::Before, _)));
        let answer = is_performed.then(|| {
            shared
                .state
                .lock()
                .unwrap()
                .call(route, &body, shared.now())
        });
        match (hang, answer) {
            (None, Some((status, text))) => Ok(StoreResponse { status, text }),
            (hang, _) => {
                if let Some((_, reached)) = hang {
                    // The test may have ended.
                    let _ = reached.send(());
                }
                std::future::pending().await
            }
        }
    }
}

struct Scripted(Arc<Shared>);

impl Models for Scripted {
    fn client(&self, _model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        Ok(Arc::new(Self(Arc::clone(&self.0))))
    }
}

#[async_trait]
impl ModelClient for Scripted {
    /// The answer depends only on the conversation, so every process gives the same answer.
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        _deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        _cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        self.0.model_calls.fetch_add(1, Ordering::SeqCst);
        let made = request
            .turns
            .iter()
            .filter(|turn| turn.role == Role::Assistant)
            .count();
        let step = self.0.script.lock().unwrap()[made].clone();
        let (part, stop) = match step {
            Step::Say(text) => (Part::text(text), StopReason::EndTurn),
            Step::SayBehind(part, text) => {
                while !self
                    .0
                    .fake
                    .targets()
                    .iter()
                    .any(|target| target.contains(part))
                {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                (Part::text(text), StopReason::EndTurn)
            }
            Step::Call(name, input) => {
                let (call_id, extra) = (format!("c{made}"), serde_json::Map::default());
                (
                    Part::ToolCall {
                        call_id,
                        name: name.into(),
                        input,
                        extra,
                    },
                    StopReason::ToolUse,
                )
            }
        };
        Ok(ModelTurn {
            parts: vec![part],
            stop,
            usage: Usage::default(),
        })
    }
}

/// The way back to the requester of a run that another process began.
struct Reopened {
    host: Arc<dyn CodeHost>,
    replies: Arc<RecordingChannel>,
}

impl Channels for Reopened {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn Channel>> {
        if run.thread_key.starts_with("github:") {
            return Some(Arc::new(CommentChannel::reopen(
                run,
                Arc::clone(&self.host),
                None,
            )?));
        }
        let replies: Arc<RecordingChannel> = Arc::clone(&self.replies);
        Some(replies)
    }
}

/// Turns the weekly schedule on.
fn with_weekly_issues(settings: Settings) -> Settings {
    let proposer = Grants {
        actions: Set::Only(["friction:write".to_owned()].into()),
        channels: Set::All,
        ..Grants::default()
    };
    let repository = RepoSlug::parse("acme/app").ok();
    Settings {
        grants: [(PROPOSER.to_owned(), proposer)].into(),
        proposals: ProposalSettings {
            repository,
            top: Some(TOP),
            ..ProposalSettings::default()
        },
        ..settings
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Returns whether a request goes to the stores.
fn is_of_stores(part: &str) -> bool {
    part.starts_with('/')
}

impl Installation {
    pub fn new() -> Self {
        let runtime = runtime();
        let fake = runtime.block_on(fake_host());
        let shared = Shared {
            fake: Arc::clone(&fake),
            state: Mutex::new(NativeState::new(None)),
            now: AtomicI64::new(1_800_000_000_000),
            script: Mutex::default(),
            model_calls: AtomicU32::new(0),
            hang: Mutex::default(),
        };
        let (replies, processes) = (Arc::default(), AtomicU32::new(0));
        let folder = tempfile::tempdir().unwrap();
        Self {
            fake,
            replies,
            shared: Arc::new(shared),
            folder,
            processes,
            runtime,
        }
    }

    /// Sets the next run's answers.
    pub fn script(&self, steps: Vec<Step>) {
        *self.shared.script.lock().unwrap() = steps;
    }

    /// Starts a process, which reclaims orphaned runs.
    pub fn start(&self) -> Process {
        let number = self.processes.fetch_add(1, Ordering::SeqCst);
        let runtime = runtime();
        let is_dead = Arc::default();
        let (core, router) = {
            let _inside = runtime.enter();
            self.compose(number, self.folder.path(), Arc::clone(&is_dead))
        };
        let keeper = core.clone();
        runtime.spawn(async move { keeper.keep_ledger(CancellationToken::new()).await });
        Process {
            runtime,
            core,
            router,
            is_dead,
        }
    }

    fn compose(&self, number: u32, folder: &Path, is_dead: Arc<AtomicBool>) -> (Core, Router) {
        let host = adapter(&self.fake);
        let client = Arc::new(
            Client::over(
                Wire {
                    shared: Arc::clone(&self.shared),
                    is_dead,
                },
                None,
            )
            .unwrap(),
        );
        let replies = Arc::clone(&self.replies);
        let ledger = LedgerDeps {
            stores: LiveStores {
                ledger: client.clone(),
                transcripts: client.clone(),
            },
            generation: Generation::parse(format!("g{number}")).unwrap(),
            channels: Arc::new(Reopened {
                host: Arc::clone(&host),
                replies,
            }),
            has_successor: true,
            reclaims: true,
        };
        let capabilities = Capabilities {
            ledger: Some(ledger),
            code_host: Some(Arc::clone(&host)),
            claims: Some(client.clone()),
            commands: CommandDeps {
                schedules: Some(client.clone()),
                ..CommandDeps::default()
            },
            ..Capabilities::default()
        };
        let core = Core::new(Deps {
            clock: Arc::<Shared>::clone(&self.shared),
            models: Arc::new(Scripted(Arc::clone(&self.shared))),
            workspaces: Arc::new(trees(folder, &host)),
            store: client.clone(),
            capabilities,
            redactor: Arc::new(Redactor::new(Vec::new())),
            settings: with_weekly_issues(settings(&self.fake)),
        });
        let webhooks = Webhooks {
            secret: Secret::parse(Some(WEBHOOK_SECRET.to_owned())).unwrap(),
            users: [("ann".to_owned(), "http:ann".to_owned())].into(),
            checks: Some("http:ci".to_owned()),
            host,
            documents: client,
        };
        let tokens = Arc::new(TokenMap::parse(None).map);
        let build = Build {
            commit: "abc".into(),
            built_at: None,
        };
        let state = HttpState::new(core.clone(), tokens, build);
        let router = router(state, vec![github::routes(Some(webhooks))]);
        (core, router)
    }

    /// Kills a process, and waits until its runs end in the others.
    pub fn kill(&self, process: Process) {
        process.kill();
        self.shared.now.fetch_add(LAPSED_MS, Ordering::SeqCst);
        self.until("the end of the run", || self.live().is_empty());
    }

    /// Lets the next request with this text hang. Completes once it does.
    ///
    /// For a host request the text is part of the method, path or GraphQL query. For a store
    /// request it is the route and words in the body.
    pub fn hang(&self, part: &str, hang: Hang) -> oneshot::Receiver<()> {
        if !is_of_stores(part) {
            return self.fake.hang(part, hang);
        }
        let (sender, reached) = oneshot::channel();
        *self.shared.hang.lock().unwrap() = Some((part.to_owned(), hang, sender));
        reached
    }

    /// Plays a message that a kill at this request interrupts, until the next process ends it.
    pub fn interrupted(&self, part: &str, hang: Hang, play: impl FnOnce(&Process)) -> Process {
        let calls = self.shared.model_calls.load(Ordering::SeqCst);
        let reached = self.hang(part, hang);
        let process = self.start();
        play(&process);
        self.block_on(reached, part);
        // A live run without a stored step cannot be resumed. Its own write to a store may precede the step.
        self.until("a model call", || {
            let has_called = self.shared.model_calls.load(Ordering::SeqCst) > calls;
            has_called || is_of_stores(part) || self.live().is_empty()
        });
        process.kill();
        self.shared.now.fetch_add(LAPSED_MS, Ordering::SeqCst);
        let next = self.start();
        self.until("the end of the run", || self.live().is_empty());
        next
    }

    pub fn block_on(&self, reached: oneshot::Receiver<()>, part: &str) {
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, reached).await });
        waited
            .unwrap_or_else(|_| panic!("no request {part}: {:#?}", self.fake.targets()))
            .unwrap();
    }

    /// Waits for a condition.
    pub fn until(&self, what: &str, mut is_met: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_met() {
            assert!(
                began.elapsed() < PATIENCE,
                "{what}: {:#?}",
                self.fake.targets()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn call(&self, verb: RunVerb, mut body: Value) -> Value {
        body["storeKey"] = ars_wire::runs::DEFAULT_STORE.into();
        self.ask(Route::Runs(verb), &body)
    }

    fn ask(&self, route: Route, body: &Value) -> Value {
        let now = self.shared.now();
        let (_, text) = self
            .shared
            .state
            .lock()
            .unwrap()
            .call(route, &body.to_string(), now);
        serde_json::from_str(&text).unwrap()
    }

    fn live(&self) -> Vec<Value> {
        self.call(RunVerb::Live, json!({}))["runs"]
            .as_array()
            .unwrap()
            .clone()
    }

    /// Stores other runs' records, at the time when the last of them ended.
    pub fn adopt(&self, records: Vec<Value>) {
        let ends = records
            .iter()
            .filter_map(|record| record["finishedAt"].as_i64());
        self.shared
            .now
            .store(ends.max().unwrap() + 1, Ordering::SeqCst);
        for record in records {
            let stored = self.call(RunVerb::Put, json!({ "record": record }));
            assert_eq!(stored["ok"], true, "{stored}");
        }
    }

    /// Returns each schedule's newest firing.
    pub fn firings(&self) -> Vec<Value> {
        let latest = self.ask(Route::Schedules(ScheduleVerb::Latest), &json!({}));
        latest["firings"].as_array().unwrap().clone()
    }

    /// Waits until no run is live and so many are recorded.
    pub fn settle(&self, count: usize) {
        self.until("the end of the runs", || {
            self.live().is_empty() && self.records().len() == count
        });
    }

    /// Lets time pass, less than a lease while a run is live.
    pub fn pass(&self, milliseconds: i64) {
        self.shared.now.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// Returns the records, the newest first.
    pub fn records(&self) -> Vec<Value> {
        self.call(RunVerb::List, json!({}))["items"]
            .as_array()
            .unwrap()
            .clone()
    }
}

impl Process {
    /// Sends a message in the thread.
    pub fn send(&self, text: &str, replies: &Arc<RecordingChannel>) {
        let (core, io, message) = (
            self.core.clone(),
            Arc::<RecordingChannel>::clone(replies),
            message("t", text),
        );
        self.runtime
            .spawn(async move { core.dispatch(message, io).await });
    }

    /// Sends a message in the thread, and waits for the run.
    pub fn ask(&self, text: &str, replies: &Arc<RecordingChannel>) {
        self.ask_in("t", text, replies);
    }

    /// Sends a message in a given thread, and waits for the run.
    pub fn ask_in(&self, thread: &str, text: &str, replies: &Arc<RecordingChannel>) {
        self.runtime.block_on(self.core.dispatch(
            message(thread, text),
            Arc::<RecordingChannel>::clone(replies),
        ));
        assert!(self.runtime.block_on(self.core.idle(PATIENCE)));
    }

    /// Sends a command. The task returns the reply.
    pub fn begin_command(&self, actor: Actor, text: &str) -> JoinHandle<String> {
        let core = self.core.clone();
        let message = IncomingMessage {
            actor,
            ..message("operators", text)
        };
        self.runtime.spawn(async move {
            let replies: Arc<RecordingChannel> = Arc::default();
            core.dispatch(message, Arc::<RecordingChannel>::clone(&replies))
                .await;
            replies.said().join("\n")
        })
    }

    /// Sends a command, and returns the reply.
    pub fn command(&self, actor: Actor, text: &str) -> String {
        self.wait(self.begin_command(actor, text))
    }

    /// Fires the schedules that are due.
    pub fn fire(&self) -> JoinHandle<()> {
        let mut scheduler = self.core.scheduler().unwrap();
        self.runtime
            .spawn(async move { scheduler.fire_due().await })
    }

    /// Receives a webhook. Returns the response status, if it is waited for.
    pub fn deliver(&self, delivered: &Delivered) -> JoinHandle<u16> {
        let mut request = Request::post("/ingress/github");
        for (name, value) in &delivered.headers {
            request = request.header(*name, value);
        }
        let request = request.body(Body::from(delivered.body.clone())).unwrap();
        let router = self.router.clone();
        self.runtime
            .spawn(async move { router.oneshot(request).await.unwrap().status().as_u16() })
    }

    /// Waits for a task in the process.
    pub fn wait<T>(&self, task: JoinHandle<T>) -> T {
        self.runtime.block_on(task).unwrap()
    }

    /// Ends the process with everything in flight.
    pub fn kill(self) {
        // The tasks end in turn, and none must act when another ends.
        self.is_dead.store(true, Ordering::SeqCst);
        drop((self.core, self.router));
        self.runtime.shutdown_timeout(Duration::from_secs(5));
    }
}
