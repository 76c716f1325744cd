//! The memory port over the store, with a database per scope, and a scripted model.
#![expect(clippy::panic, reason = "a double that cannot go on fails its test")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use ars_agent::{ModelTurn, Part, Role, StopReason, Turn, Usage};
use ars_auth::{Actor, Grants, Set};
use ars_bot_core::memory::{
    Budget, Outcome, Place, Recalled, Recaller, Reflection, Reflector, RunScopes, SpendGuard,
};
use ars_bot_ports::{
    Memory, ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, RetryCause,
    StoreError, StoreErrorKind, Written,
};
use ars_bot_tools::agents;
use ars_events::Redactor;
use ars_memory::MemoryStore;
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_types::{ModelRef, Platform, RunId, StoreKey, ThreadKey, UnixMillis, Visibility};
use ars_wire::{
    memory::{
        Candidate, ForgetRequest, ForgetResponse, Kind, ListRequest, MemoryRecord, RecordsResponse,
        RetrieveRequest, Taint, WriteRequest, WriteResponse,
    },
    state::MemoryVerb,
};
use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Map;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

pub const NOW: UnixMillis = 1_700_000_000_000;
/// An installation secret that matches no pattern.
pub const CANARY: &str = "canary-value";

/// Keeps memory in this process.
#[derive(Default)]
pub struct Stores {
    scopes: Mutex<HashMap<StoreKey, MemoryStore<NativeSql>>>,
    /// Every call as `<verb> <scope key>`.
    pub calls: Mutex<Vec<String>>,
    /// Scopes with failing requests.
    pub down: Mutex<Vec<&'static str>>,
    /// A barrier where retrievals meet.
    meeting: Option<Barrier>,
}

impl Stores {
    /// Creates stores with a barrier for this number of concurrent retrievals.
    pub fn meeting(count: usize) -> Self {
        Self {
            meeting: Some(Barrier::new(count)),
            ..Self::default()
        }
    }

    fn ask<B: Serialize, A: DeserializeOwned>(
        &self,
        scope: &StoreKey,
        verb: MemoryVerb,
        body: &B,
    ) -> Result<A, StoreError> {
        self.calls.lock().unwrap().push(format!("{verb:?} {scope}"));
        let failure = |kind, message: String| StoreError { kind, message };
        if self.down.lock().unwrap().contains(&scope.as_str()) {
            return Err(failure(StoreErrorKind::Transient, "as scripted".into()));
        }
        let mut scopes = self.scopes.lock().unwrap();
        let store = scopes
            .entry(scope.clone())
            .or_insert_with(|| MemoryStore::open(NativeSql::in_memory().unwrap()).unwrap());
        let body = serde_json::to_string(body).unwrap();
        let answer = store.answer(verb, &body, NOW);
        let text =
            answer.map_err(|error| failure(StoreErrorKind::Permanent, format!("{error:?}")))?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    /// Writes facts like an earlier run.
    pub async fn remember(&self, scope: &str, texts: &[&str]) {
        for text in texts {
            self.remember_of(scope, text, Vec::new()).await;
        }
    }

    /// Writes a fact like an earlier run that had read these sources.
    pub async fn remember_of(&self, scope: &str, text: &str, taint: Vec<Taint>) {
        let fact = Candidate {
            kind: Kind::Fact,
            text: text.into(),
            source_thread_key: "slack:C9:1".into(),
            keywords: vec![],
            source_run_id: None,
            confidence: None,
            supersedes: None,
            taint,
        };
        assert_eq!(self.write(&key(scope), &[fact]).await.unwrap().inserted, 1);
        self.calls.lock().unwrap().clear();
    }

    /// Returns a scope's records, newest first.
    pub async fn all(&self, scope: &str) -> Vec<MemoryRecord> {
        self.list(&key(scope), None, 50).await.unwrap()
    }

    pub async fn texts(&self, scope: &str) -> Vec<String> {
        self.all(scope)
            .await
            .into_iter()
            .map(|record| record.text)
            .collect()
    }

    pub fn called(&self, verb: &str) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls
            .iter()
            .filter_map(|call| call.strip_prefix(verb))
            .map(|key| key.trim().to_owned())
            .collect()
    }
}

#[async_trait]
impl Memory for Stores {
    async fn retrieve(&self, scope: &StoreKey, query: &str, limit: u32) -> Vec<MemoryRecord> {
        if let Some(meeting) = &self.meeting {
            meeting.wait().await;
        }
        let request = RetrieveRequest {
            scope_key: scope.clone(),
            query: query.into(),
            limit,
        };
        let found = self.ask::<_, RecordsResponse>(scope, MemoryVerb::Retrieve, &request);
        found.map(|found| found.records).unwrap_or_default()
    }

    async fn write(
        &self,
        scope: &StoreKey,
        candidates: &[Candidate],
    ) -> Result<Written, StoreError> {
        let request = WriteRequest {
            scope_key: scope.clone(),
            records: candidates.to_vec(),
            cap: None,
        };
        let WriteResponse {
            inserted,
            deduped,
            superseded,
            evicted,
            ..
        } = self.ask(scope, MemoryVerb::Write, &request)?;
        Ok(Written {
            inserted,
            deduped,
            superseded,
            evicted,
        })
    }

    async fn list(
        &self,
        scope: &StoreKey,
        query: Option<&str>,
        limit: u32,
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        let request = ListRequest {
            scope_key: scope.clone(),
            limit,
            query: query.map(Into::into),
        };
        Ok(self
            .ask::<_, RecordsResponse>(scope, MemoryVerb::List, &request)?
            .records)
    }

    async fn forget(&self, scope: &StoreKey, id: &str) -> Result<bool, StoreError> {
        let request = ForgetRequest {
            scope_key: scope.clone(),
            id: id.into(),
        };
        Ok(self
            .ask::<_, ForgetResponse>(scope, MemoryVerb::Forget, &request)?
            .forgotten)
    }
}

pub fn key(scope: &str) -> StoreKey {
    StoreKey::parse(scope).unwrap()
}

/// How the scripted model behaves.
pub enum Answer {
    Say(String),
    Fail(ModelErrorKind),
    /// Reports an overload that allows a retry.
    Busy,
    Silence,
}

/// A request as the model received it.
#[derive(Clone)]
pub struct Asked {
    pub system: String,
    pub question: String,
    pub max_tokens: u32,
    pub may_call_tools: bool,
}

pub struct OneAnswer {
    answer: Answer,
    asked: Mutex<Vec<Asked>>,
}

impl OneAnswer {
    pub fn of(answer: Answer) -> Arc<Self> {
        Arc::new(Self {
            answer,
            asked: Mutex::default(),
        })
    }

    pub fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Returns the model's only request.
    pub fn asked(&self) -> Asked {
        let asked = self.asked.lock().unwrap();
        let [one] = &asked[..] else {
            panic!("asked {} times", asked.len())
        };
        one.clone()
    }
}

#[async_trait]
impl ModelClient for OneAnswer {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        let [
            Turn {
                role: Role::User,
                parts,
            },
        ] = request.turns
        else {
            panic!("{:?}", request.turns)
        };
        let [Part::Text { text, .. }] = &parts[..] else {
            panic!("{parts:?}")
        };
        self.asked.lock().unwrap().push(Asked {
            system: request.system.into(),
            question: text.clone(),
            max_tokens: request.max_tokens,
            may_call_tools: request.may_call_tools,
        });
        let failed = |kind| {
            Err(ModelError {
                kind,
                message: "as scripted".into(),
            })
        };
        match &self.answer {
            Answer::Say(text) => Ok(ModelTurn {
                parts: vec![Part::text(text)],
                stop: StopReason::EndTurn,
                usage: Usage::default(),
            }),
            Answer::Fail(kind) => failed(kind.clone()),
            Answer::Busy => {
                deltas(ModelDelta::Retrying {
                    attempt: 1,
                    wait: std::time::Duration::from_secs(1),
                    cause: RetryCause::Overload,
                });
                assert!(cancel.is_cancelled(), "the second attempt is called off");
                failed(ModelErrorKind::Cancelled)
            }
            Answer::Silence => std::future::pending().await,
        }
    }
}

/// The scopes of Ann's runs, all of which she may read.
pub fn scopes(visibility: Visibility) -> RunScopes {
    let place = Place {
        organization: Some("acme"),
        repository: Some("acme/app"),
        channel: "C1",
        visibility,
    };
    let grants = Grants {
        channels: Set::only(&["C1"]),
        repos: Set::only(&["acme/app"]),
        ..Grants::default()
    };
    RunScopes::permitted(&place, &Actor::new("slack:ann", grants))
}

pub fn redactor() -> Redactor {
    Redactor::new([CANARY.to_owned()])
}

pub async fn recalled(stores: &Arc<Stores>, request: &str, budget: Budget) -> Option<Recalled> {
    let store: Arc<dyn Memory> = Arc::<Stores>::clone(stores);
    Recaller { store, budget }
        .recall(&scopes(Visibility::Public), request, &redactor(), NOW)
        .await
}

/// An ended run in a public channel, with a tool call.
pub struct Ended {
    pub turns: Vec<Turn>,
    pub prior_turns: usize,
    pub tool_calls: u32,
    pub agent: &'static str,
    pub visibility: Visibility,
    pub recalled: Vec<MemoryRecord>,
    pub taint: Vec<Taint>,
}

impl Ended {
    pub fn of(turns: &[(Role, &str)]) -> Self {
        Self {
            turns: turns
                .iter()
                .map(|(role, text)| Turn::text(*role, *text))
                .collect(),
            prior_turns: 0,
            tool_calls: 1,
            agent: "coding",
            visibility: Visibility::Public,
            recalled: vec![],
            taint: vec![],
        }
    }

    /// The run that most tests use.
    pub fn usual() -> Self {
        Self::of(&[
            (Role::User, "How does CI run?"),
            (Role::Assistant, "Nightly, by make check."),
        ])
    }
}

/// A guard without a money limit.
struct Free;

#[async_trait]
impl SpendGuard for Free {
    async fn may_spend(&self, _most: u64) -> bool {
        true
    }

    fn spent(&self, _microusd: u64) {}
}

/// Reflects, and returns the model with the requests and the result.
pub async fn reflect(
    stores: &Arc<Stores>,
    ended: &Ended,
    answer: Answer,
) -> (Arc<OneAnswer>, Outcome) {
    let model = OneAnswer::of(answer);
    let store: Arc<dyn Memory> = Arc::<Stores>::clone(stores);
    let client: Arc<dyn ModelClient> = Arc::<OneAnswer>::clone(&model);
    let reflector = Reflector {
        store,
        model: ModelRef::parse("scripted/small").unwrap(),
        client,
        price: None,
        redactor: Arc::new(redactor()),
    };
    let outcome = reflector
        .reflect(
            &Reflection {
                turns: &ended.turns,
                prior_turns: ended.prior_turns,
                tool_calls: ended.tool_calls,
                agent: agents::find(ended.agent).unwrap(),
                scopes: &scopes(ended.visibility),
                visibility: ended.visibility,
                taint: &ended.taint,
                recalled: &ended.recalled,
                run: &RunId::parse("r-1").unwrap(),
                thread: &ThreadKey::new(Platform::Slack, "C1", "1"),
            },
            &Free,
        )
        .await;
    (model, outcome)
}

/// A tool call and the result, as turns.
pub fn tool(input: serde_json::Value, result: &str) -> [Turn; 2] {
    let call = Part::ToolCall {
        call_id: "c".into(),
        name: "bash".into(),
        input,
        extra: Map::new(),
    };
    let content = vec![ars_agent::ToolContent::Text {
        text: result.into(),
    }];
    let result = Part::ToolResult {
        call_id: "c".into(),
        ok: true,
        content,
    };
    [
        Turn {
            role: Role::Assistant,
            parts: vec![call],
        },
        Turn {
            role: Role::User,
            parts: vec![result],
        },
    ]
}
