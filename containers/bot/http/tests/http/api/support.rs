//! A bot with every command, behind a secret's gate, and requests to the command routes.
#![expect(
    clippy::unwrap_used,
    reason = "a double that cannot go on fails its test"
)]

use std::sync::{Arc, Mutex};

use ars_auth::{Grants, Set};
use ars_bot_core::{
    Capabilities,
    commands::CommandDeps,
    memory::{Budget, MemoryDeps},
    overrides::Overrides,
    settings::Settings,
};
use ars_bot_ports::{Memory, Schedules, StoreError, Written};
use ars_bot_testkit::MemoryDocuments;
use ars_runs::RunRecord;
use ars_types::{StoreKey, UnixMillis};
use ars_wire::{
    health::Build,
    memory::{Candidate, MemoryRecord},
    schedules::Firing,
};
use async_trait::async_trait;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use crate::{
    code_host::MemoryHost,
    memory_residents::{MemoryResidents, with_residents},
    support::{Bot, TOKENS, by_token, record},
};

/// Actor that the secret stands for.
pub const ACTOR: &str = "access:ops";
/// Record in the organization's memory.
pub const RECORD: &str = "mem:org:acme:1";

/// A single record, until it is forgotten.
#[derive(Default)]
struct OneRecord(Mutex<bool>);

#[async_trait]
impl Memory for OneRecord {
    async fn retrieve(&self, _scope: &StoreKey, _query: &str, _limit: u32) -> Vec<MemoryRecord> {
        Vec::new()
    }

    async fn write(
        &self,
        _scope: &StoreKey,
        _candidates: &[Candidate],
    ) -> Result<Written, StoreError> {
        Ok(Written::default())
    }

    async fn list(
        &self,
        scope: &StoreKey,
        _query: Option<&str>,
        _limit: u32,
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        let record = json!({
            "id": RECORD, "scopeKey": scope, "kind": "fact", "text": "remembered", "keywords": [],
            "sourceThreadKey": "slack:C1:1", "createdAt": 1, "useCount": 0, "status": "active",
        });
        let is_here = scope.as_str() == "org:acme" && !*self.0.lock().unwrap();
        Ok(is_here
            .then(|| serde_json::from_value(record).unwrap())
            .into_iter()
            .collect())
    }

    async fn forget(&self, _scope: &StoreKey, id: &str) -> Result<bool, StoreError> {
        let mut is_forgotten = self.0.lock().unwrap();
        Ok(id == RECORD && !std::mem::replace(&mut *is_forgotten, true))
    }
}

struct NoFirings;

#[async_trait]
impl Schedules for NoFirings {
    async fn record(&self, _firing: &Firing) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn latest(&self) -> Result<Vec<Firing>, StoreError> {
        Ok(Vec::new())
    }
}

/// Adds the capabilities that all commands need.
pub fn whole(capabilities: Capabilities) -> Capabilities {
    let memory = MemoryDeps {
        store: Arc::new(OneRecord::default()),
        organization: Some("acme".into()),
        budget: Budget::default(),
        model: None,
    };
    let host = MemoryHost::default();
    *host.diff.lock().unwrap() = Some("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+canary-value\n".to_owned());
    let build = Build {
        commit: "abc123".into(),
        built_at: None,
    };
    let whole = Capabilities {
        memory: Some(memory),
        code_host: Some(Arc::new(host)),
        overrides: Some(Overrides::new(Arc::new(MemoryDocuments::default()))),
        commands: CommandDeps {
            build: Some(build),
            schedules: Some(Arc::new(NoFirings)),
            ..CommandDeps::default()
        },
        ..capabilities
    };
    with_residents(&MemoryResidents::frozen("acme/app"))(whole)
}

/// Starts a bot with every command. The secret `look` stands for a session with these further grants.
pub async fn bot(actions: Set, channels: Set) -> Bot {
    let grants = Grants {
        actions,
        channels,
        ..Grants::default()
    };
    let settings = Settings {
        grants: [(ACTOR.to_owned(), grants)].into(),
        ..Settings::default()
    };
    Bot::with_capabilities(
        by_token(ACTOR),
        TOKENS,
        settings,
        whole(Capabilities::default()),
    )
    .await
}

/// Returns a finished pull request review.
pub fn review(id: &str, finished_at: UnixMillis) -> RunRecord {
    let meta = json!({ "type": "run_meta", "agent": "review", "pr": 7, "seq": 1 });
    let repo = Some("acme/app".to_owned());
    RunRecord {
        agent: Some("review".to_owned()),
        repo,
        ..record(id, finished_at, &[meta])
    }
}

/// A response that was read.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns a failure's status and code.
    pub fn failure(&self) -> (u16, String) {
        let body = self.json();
        let members: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "code"], "{body}");
        (self.status, body["code"].as_str().unwrap().to_owned())
    }
}

/// Checks the headers that every response has, and reads it.
pub async fn read(response: Response) -> Answer {
    let header = |name: &str| {
        response
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(
        header("content-type").as_deref(),
        Some("application/json; charset=utf-8")
    );
    assert_eq!(header("cache-control").as_deref(), Some("no-store"));
    let mut names = response.headers().keys();
    assert!(
        !names.any(|name| name.as_str().starts_with("access-control")),
        "{response:?}"
    );
    Answer {
        status: response.status().as_u16(),
        body: response.text().await.unwrap(),
    }
}

/// Sends a GET with the secret.
pub async fn get(bot: &Bot, path: &str) -> Answer {
    read(
        Client::new()
            .get(bot.url(path))
            .bearer_auth("look")
            .send()
            .await
            .unwrap(),
    )
    .await
}

/// Sends a POST with the secret.
pub async fn post(bot: &Bot, id: &str, body: &Value) -> Answer {
    send(
        bot,
        Method::POST,
        &format!("/api/{id}"),
        &[("content-type", "application/json")],
        body.to_string(),
    )
    .await
}

/// Sends a request with the secret.
pub async fn send(
    bot: &Bot,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> Answer {
    let mut request = Client::new()
        .request(method, bot.url(path))
        .bearer_auth("look")
        .body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(request.send().await.unwrap()).await
}
