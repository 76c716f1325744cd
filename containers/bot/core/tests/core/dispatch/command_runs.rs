//! The runs that some commands leave.

use std::{sync::Arc, time::Duration};

use ars_auth::Actor;
use ars_bot_core::{
    Capabilities,
    memory::{Budget, MemoryDeps},
};
use ars_bot_ports::{IncomingMessage, Memory, StoreError, Written};
use ars_resident::lifecycle::StateWord;
use ars_types::{RunStatus, StoreKey};
use ars_wire::memory::{Candidate, MemoryRecord};
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Notify;

use super::commands::{command, remembering};
use crate::support::*;

#[tokio::test]
async fn command_leaves_input_answer_and_receipt() {
    let world = remembering(Vec::new(), Capabilities::default());
    let io = say(&world, command("friction report")).await;
    world.settle().await;
    let [id] = &io.started()[..] else {
        panic!("one run")
    };
    assert_eq!(io.finished(), [RunStatus::Completed]);
    assert_eq!(io.commands(), [true]);
    // A single record: there is no tombstone.
    let [record] = &world.records()[..] else {
        panic!("one record")
    };
    assert_eq!(
        (&record.id, record.status, record.reply_ok),
        (id, RunStatus::Completed, Some(true))
    );
    assert_eq!(outline(record), ["input", "run_meta", "answer"]);
    assert_eq!(
        (record.agent.as_deref(), record.model.as_deref()),
        (Some("command"), None)
    );
    let event = |kind: &str| {
        record
            .events
            .iter()
            .find(|event| event["type"] == kind)
            .unwrap()
    };
    assert_eq!(event("input")["text"], "friction report");
    assert_eq!(
        (&event("run_meta")["agent"], &event("run_meta")["model"]),
        (&"command".into(), &Value::Null)
    );
    assert_eq!(event("answer")["text"], io.said()[0]);
    assert!(
        record
            .label
            .as_ref()
            .unwrap()
            .starts_with("command · http:default - http:ann · “friction")
    );
    assert!(world.model.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn failed_command_leaves_its_answer() {
    let world = remembering(Vec::new(), Capabilities::default());
    let io = say(&world, command("memory forget mem:user:http:ann:9")).await;
    world.settle().await;
    assert_eq!(io.said(), ["⚠️ `memory forget`: there is no such record"]);
    assert_eq!(
        (io.finished(), io.started().len()),
        (vec![RunStatus::Failed], 1)
    );
    let record = world.last_record();
    assert_eq!(
        (record.status, record.reply_ok),
        (RunStatus::Failed, Some(true))
    );
    assert_eq!(outline(&record), ["input", "run_meta", "answer"]);
}

#[tokio::test]
async fn undelivered_answer_fails_the_record() {
    let world = remembering(Vec::new(), Capabilities::default());
    let io = Arc::new(RecordingChannel {
        is_broken: true,
        ..RecordingChannel::default()
    });
    let channel: Arc<RecordingChannel> = Arc::clone(&io);
    world
        .core
        .dispatch(command("friction report"), channel)
        .await;
    world.settle().await;
    let record = world.last_record();
    assert_eq!(
        (record.status, record.reply_ok),
        (RunStatus::Failed, Some(false))
    );
}

#[tokio::test]
async fn command_run_is_unknown_to_the_ledger() {
    let ledger = Arc::new(ScriptedLedger::default());
    let channels = Arc::new(ReopenedChannel(Arc::default()));
    let world = remembering(Vec::new(), ledger.capability("g1", channels));
    say(&world, command("friction report")).await;
    world.settle().await;
    assert_eq!(world.records().len(), 1);
    for request in ["claim", "finish", "inbox"] {
        assert_eq!(ledger.count(request), 0, "{request}");
    }
    assert!(ledger.runs().is_empty() && ledger.records.lock().unwrap().is_empty());
}

/// A memory that never answers a `forget`.
#[derive(Default)]
struct Stuck {
    called: Notify,
}

#[async_trait]
impl Memory for Stuck {
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
        _scope: &StoreKey,
        _query: Option<&str>,
        _limit: u32,
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn forget(&self, _scope: &StoreKey, _id: &str) -> Result<bool, StoreError> {
        self.called.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn hard_stop_interrupts_the_handler() {
    let stuck = Arc::new(Stuck::default());
    let store: Arc<dyn Memory> = Arc::<Stuck>::clone(&stuck);
    let memory = MemoryDeps {
        store,
        organization: None,
        budget: Budget::default(),
        model: None,
    };
    let world = Arc::new(world_with(
        Vec::new(),
        Capabilities {
            memory: Some(memory),
            ..Capabilities::default()
        },
    ));
    let running = tokio::spawn({
        let world = Arc::clone(&world);
        async move { say(&world, command("memory forget mem:user:http:ann:9")).await }
    });
    stuck.called.notified().await;
    world.stop_hard();
    let io = running.await.unwrap();
    world.settle().await;
    assert_eq!(
        io.said(),
        ["⚠️ `memory forget`: it was stopped; changes that it made before remain"]
    );
    assert_eq!(io.finished(), [RunStatus::StoppedHard]);
    assert_eq!(world.last_record().status, RunStatus::StoppedHard);
}

/// A second reply reports the ready resident. A dry run has none.
#[tokio::test(start_paused = true)]
async fn second_reply_follows_provisioning() {
    let residents = Arc::<MemoryResidents>::default();
    let world = world_with(
        Vec::new(),
        with_residents(&residents)(Capabilities::default()),
    );
    let admin = |text: &str| IncomingMessage {
        actor: Actor::cli_local(),
        ..message(text)
    };
    let io = say(
        &world,
        admin("repo onboard acme/app --test true --build true"),
    )
    .await;
    assert!(
        io.said()[0].starts_with("`acme/app` is being prepared"),
        "{:?}",
        io.said()
    );
    residents.change("acme/app", |view| view.state = StateWord::Warm);
    let dry = say(&world, admin("repo rebuild acme/app --dry-run")).await;
    while io.said().len() < 2 {
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    assert_eq!(
        io.said()[1],
        "`acme/app` is ready: runs on it start in a warm environment."
    );
    assert_eq!(dry.said().len(), 1);
}
