//! An installation with every store in memory, and each surface's callers.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use ars_auth::{Actor, Grants, Ingress, Set, TokenDigest, TokenEntry};
use ars_bot_core::{
    Capabilities, Core, Deps,
    commands::{Caller, CommandDeps, Commands, Failure, Origin, Success},
    memory::{Budget, MemoryDeps},
    overrides::Overrides,
    settings::Settings,
};
use ars_bot_ports::{Clock, Documents, Memory, RunStore, StoreError, StoreErrorKind, Stored};
use ars_bot_testkit::MemoryDocuments;
use ars_commands::{RawInput, Surface};
use ars_events::{ActorKind, Redactor};
use ars_runs::{RunRecord, StoredRun};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_types::{ChannelName, ModelRef, RunId, StoreKey, UnixMillis, Visibility};
use ars_wire::{
    health::Build,
    runs::{
        DEFAULT_STORE, EventsPage, EventsRequest, EventsResponse, GetRequest, GetResponse, Keyed,
        ListRequest, ListResponse, PutRequest, SummaryResponse,
    },
    state::RunVerb,
};
use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    memory::support::Stores,
    support::{EchoWorkspace, Move, OneModel, OneWorkspace, ScriptedModel, TickingClock},
};

/// A time within every record's retention on the ticking clock.
const NOW: UnixMillis = 2_000_000;

/// The run store over SQL in memory.
pub struct SqlRuns {
    store: Mutex<ars_runs::RunStore<NativeSql>>,
    /// Whether requests fail for now.
    pub is_down: AtomicBool,
    /// Every list request received.
    pub lists: Mutex<Vec<ListRequest>>,
}

impl SqlRuns {
    fn new() -> Self {
        let store = ars_runs::RunStore::open(NativeSql::in_memory().unwrap()).unwrap();
        Self {
            store: Mutex::new(store),
            is_down: AtomicBool::new(false),
            lists: Mutex::default(),
        }
    }

    fn ask<B: Serialize, A: DeserializeOwned>(
        &self,
        verb: RunVerb,
        body: B,
    ) -> Result<A, StoreError> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(StoreError {
                kind: StoreErrorKind::Transient,
                message: "as scripted".into(),
            });
        }
        let store_key = StoreKey::parse(DEFAULT_STORE).unwrap();
        let body = serde_json::to_string(&Keyed {
            store_key: &store_key,
            body,
        })
        .unwrap();
        let answer = self.store.lock().unwrap().answer(verb, &body, NOW).unwrap();
        Ok(serde_json::from_str(&answer).unwrap())
    }

    /// Stores a finished run.
    pub fn seed(&self, id: &str, finished_at: i64, change: impl FnOnce(&mut Value)) {
        let mut record = json!({
            "id": id, "label": "canary-label", "agent": "coding", "model": "a/b", "channelId": "http:default",
            "userId": "http:ann", "threadKey": "http:default:t", "channelVisibility": "machine",
            "startedAt": finished_at - 5_000, "finishedAt": finished_at, "status": "completed",
            "eventCount": 2, "storedEventCount": 2, "truncated": false,
            "events": [
                { "type": "input", "text": "canary-text", "seq": 1, "at": finished_at - 5_000 },
                { "type": "answer", "text": "canary-answer", "seq": 2, "at": finished_at },
            ],
            "diagnosis": { "findings": [], "eventCount": 2, "toolCalls": 0, "verdict": "no friction detected", "byCategory": {} },
        });
        change(&mut record);
        let record: RunRecord = serde_json::from_value(record).unwrap();
        let _: Value = self
            .ask(
                RunVerb::Put,
                PutRequest {
                    record: &record,
                    policy: None,
                    policy_updated_at: None,
                },
            )
            .unwrap();
    }
}

#[async_trait]
impl RunStore for SqlRuns {
    async fn put(&self, record: &RunRecord) -> Result<Stored, StoreError> {
        let _: Value = self.ask(
            RunVerb::Put,
            PutRequest {
                record,
                policy: None,
                policy_updated_at: None,
            },
        )?;
        Ok(Stored { stored: true })
    }

    async fn get(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let answer: GetResponse<Value> = self.ask(RunVerb::Get, GetRequest { id })?;
        Ok(answer
            .record
            .map(|record| RunRecord::from_stored(record).unwrap()))
    }

    async fn summary(&self, id: &RunId) -> Result<Option<Value>, StoreError> {
        let answer: SummaryResponse = self.ask(RunVerb::Summary, GetRequest { id })?;
        Ok(answer.summary)
    }

    async fn list(&self, request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError> {
        self.lists.lock().unwrap().push(request.clone());
        self.ask(RunVerb::List, request.clone())
    }

    async fn events(
        &self,
        id: &RunId,
        after_seq: u64,
        limit: u32,
    ) -> Result<Option<EventsPage>, StoreError> {
        let request = EventsRequest {
            id,
            after_seq,
            limit: Some(limit),
        };
        let answer: EventsResponse = self.ask(RunVerb::Events, request)?;
        Ok(answer.events.map(|events| EventsPage {
            events,
            next_after_seq: answer.next_after_seq,
        }))
    }

    async fn delete(&self, _id: &RunId) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// An installation with memory, overrides and a history.
pub struct Desk {
    pub core: Core,
    pub runs: Arc<SqlRuns>,
    pub memory: Arc<Stores>,
    pub settings: Arc<MemoryDocuments>,
    pub model: Arc<ScriptedModel>,
}

pub fn desk() -> Desk {
    desk_with(Vec::new(), |capabilities| capabilities, |settings| settings)
}

pub fn desk_with(
    moves: Vec<Move>,
    capable: impl FnOnce(Capabilities) -> Capabilities,
    set: impl FnOnce(Settings) -> Settings,
) -> Desk {
    desk_at(Arc::new(TickingClock::default()), moves, capable, set)
}

/// Returns an installation with this clock.
pub fn desk_at(
    clock: Arc<dyn Clock>,
    moves: Vec<Move>,
    capable: impl FnOnce(Capabilities) -> Capabilities,
    set: impl FnOnce(Settings) -> Settings,
) -> Desk {
    let runs = Arc::new(SqlRuns::new());
    let memory = Arc::new(Stores::default());
    let page = Arc::new(MemoryDocuments::default());
    let model = Arc::new(ScriptedModel {
        moves: Mutex::new(moves.into()),
        ..ScriptedModel::default()
    });
    let store: Arc<dyn Memory> = Arc::<Stores>::clone(&memory);
    let documents: Arc<dyn Documents> = Arc::<MemoryDocuments>::clone(&page);
    let history: Arc<dyn RunStore> = Arc::<SqlRuns>::clone(&runs);
    let build = Build {
        commit: "abc1234".into(),
        built_at: Some("2026-01-01T00:00:00Z".into()),
    };
    let capabilities = Capabilities {
        memory: Some(MemoryDeps {
            store,
            organization: Some("acme".into()),
            budget: Budget::default(),
            model: None,
        }),
        overrides: Some(Overrides::new(documents)),
        commands: CommandDeps {
            build: Some(build),
            ..CommandDeps::default()
        },
        ..Capabilities::default()
    };
    let settings = Settings {
        default_model: ModelRef::parse("scripted/m").ok(),
        ..Settings::default()
    };
    let core = Core::new(Deps {
        clock,
        models: Arc::new(OneModel(Arc::clone(&model))),
        workspaces: Arc::new(OneWorkspace(Arc::new(EchoWorkspace::default()))),
        store: history,
        capabilities: capable(capabilities),
        redactor: Arc::new(Redactor::new(vec!["canary-value".into()])),
        settings: set(settings),
    });
    Desk {
        core,
        runs,
        memory,
        settings: page,
        model,
    }
}

impl Desk {
    pub fn commands(&self) -> Commands {
        self.core.commands()
    }

    /// Invokes a command with a JSON body.
    pub async fn invoke(&self, caller: &Caller, id: &str, body: Value) -> Result<Success, Failure> {
        let Value::Object(body) = body else {
            unreachable!("tests pass objects")
        };
        self.commands()
            .invoke(caller, id, &RawInput::Object(body))
            .await
    }

    /// Returns a successful invocation's output.
    pub async fn output(&self, caller: &Caller, id: &str, body: Value) -> Value {
        serde_json::from_str(&self.invoke(caller, id, body).await.unwrap().json).unwrap()
    }

    /// Returns a failed invocation's code and text.
    pub async fn failure(&self, caller: &Caller, id: &str, body: Value) -> (&'static str, String) {
        let failure = self.invoke(caller, id, body).await.unwrap_err();
        (failure.code.as_str(), failure.message)
    }

    /// Answers a message as a command.
    pub async fn says(&self, caller: &Caller, text: &str) -> Option<Result<Success, Failure>> {
        let recognized = self.commands().registry().recognize(text)?;
        Some(self.commands().answer(caller, recognized).await)
    }
}

/// A caller with a dashboard session.
pub fn browser() -> Caller {
    Caller::dashboard(Actor::browser("access:ann"))
}

/// A dashboard session with additional grants.
pub fn granted(actions: &[&str], channels: Set) -> Caller {
    let extra = Grants {
        actions: Set::only(actions),
        channels,
        ..Grants::default()
    };
    Caller::dashboard(Actor::browser("access:ops").with(&extra))
}

/// A session that reads every channel and stops runs.
pub fn operator() -> Caller {
    granted(&["runs:write"], Set::All)
}

/// Every Slack user's grants.
const SLACK_USER: [&str; 10] = [
    "help:read",
    "config:read",
    "repo:read",
    "friction:read",
    "memory:read",
    "mcp:read",
    "schedule:read",
    "status:read",
    "memory:write",
    "mcp:write",
];

/// A Slack user in a public channel.
pub fn slack() -> Caller {
    let actor = Actor::new(
        "slack:U1",
        Grants {
            actions: Set::only(&SLACK_USER),
            ..Grants::default()
        },
    );
    let origin = Origin {
        channel: "slack:C1".into(),
        visibility: Visibility::Public,
    };
    Caller {
        surface: Surface::Chat,
        kind: ActorKind::Chat,
        actor,
        origin: Some(origin),
    }
}

/// An ingress token's holder that calls tools.
pub fn token(scopes: &[&str], channel: Option<&str>) -> Caller {
    Caller::mcp(&entry(scopes, channel))
}

/// An ingress token's holder that sends a text.
pub fn sender(scopes: &[&str]) -> Caller {
    let origin = Origin {
        channel: "http:default".into(),
        visibility: Visibility::Machine,
    };
    let actor = Actor::service(Ingress::Http, &entry(scopes, None));
    Caller {
        surface: Surface::Chat,
        kind: ActorKind::Chat,
        actor,
        origin: Some(origin),
    }
}

fn entry(scopes: &[&str], channel: Option<&str>) -> TokenEntry {
    let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
    TokenEntry {
        subject: "ann".into(),
        channel: channel.map(|name| ChannelName::parse(name).unwrap()),
        scopes,
        digest: TokenDigest::default(),
    }
}

/// The caller on another surface.
pub fn on(caller: &Caller, surface: Surface) -> Caller {
    Caller {
        surface,
        ..caller.clone()
    }
}

pub fn none() -> Value {
    Value::Object(Map::new())
}
