//! Tests the client over a transport with scripted responses.

mod answers;
mod flush;
mod memory;
mod retries;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use ars_bot_adapters::stores::{Client, StoreResponse, Transport};
use ars_bot_ports::{StoreError, StoreErrorKind};
use ars_types::{Generation, StoreKey};
use ars_wire::{
    Moment,
    ledger::{LEASE_MS, NewRun, Owner},
    memory::Candidate,
    state::Route,
};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::suite::run;

/// A transport with scripted responses; after the last it fails like a network.
#[derive(Default)]
pub struct Scripted {
    answers: Mutex<VecDeque<(u16, String)>>,
    asked: Mutex<Vec<&'static str>>,
    pub bodies: Mutex<Vec<Value>>,
}

#[async_trait]
impl Transport for Scripted {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        self.bodies
            .lock()
            .unwrap()
            .push(serde_json::from_str(&body).unwrap());
        self.asked.lock().unwrap().push(route.path());
        match self.answers.lock().unwrap().pop_front() {
            Some((status, text)) => Ok(StoreResponse { status, text }),
            None => Err(StoreError {
                kind: StoreErrorKind::Transient,
                message: "unreachable".into(),
            }),
        }
    }
}

impl Scripted {
    pub fn asked(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

pub type ScriptedClient = Client<Arc<Scripted>>;
pub type Scene = (Arc<ScriptedClient>, Arc<Scripted>);

pub fn scene(answers: &[(u16, &str)]) -> Scene {
    let transport = Arc::new(Scripted::default());
    let answers = answers
        .iter()
        .map(|(status, text)| (*status, (*text).to_owned()));
    *transport.answers.lock().unwrap() = answers.collect();
    (
        Arc::new(Client::over(transport.clone(), None).unwrap()),
        transport,
    )
}

pub fn owner() -> Owner {
    Owner {
        run_id: run("r1"),
        generation: generation(),
    }
}

pub fn generation() -> Generation {
    Generation::parse("g1").unwrap()
}

pub fn ledger_key() -> StoreKey {
    StoreKey::parse("friction:default").unwrap()
}

pub fn new_run() -> NewRun {
    NewRun {
        run_id: run("r1"),
        thread_key: "t1".into(),
        generation: generation(),
        lease_ms: LEASE_MS,
        started_at: Moment::from(5),
        meta: Map::new(),
        card: None,
        system: String::new(),
        tools: Vec::new(),
        state: None,
        idempotency: None,
    }
}

pub fn candidate() -> Candidate {
    serde_json::from_value(json!({ "kind": "fact", "text": "x", "sourceThreadKey": "t" })).unwrap()
}
