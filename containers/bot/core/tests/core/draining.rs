//! A drain rejects new requests and completes the accepted ones.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ars_bot_ports::{ChannelIo, HistoryTurn, IncomingMessage, ReplyError};
use ars_types::{Platform, RunId, ThreadKey};
use async_trait::async_trait;
use tokio::task::JoinHandle;

use crate::support::*;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// A channel that fails the test if its history is read or a reply precedes `rejected_by_shutdown`.
#[derive(Default)]
struct RejectedChannel {
    said: Collector,
    is_announced: AtomicBool,
}

#[async_trait]
impl ChannelIo for RejectedChannel {
    async fn reply(&self, text: &str) -> Result<(), ReplyError> {
        assert!(
            self.is_announced.load(Ordering::Relaxed),
            "the reply precedes the notice of the shutdown: {text}"
        );
        self.said.reply(text).await
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        panic!("the history of a rejected request was read")
    }

    fn rejected_by_shutdown(&self) {
        self.is_announced.store(true, Ordering::Relaxed);
    }

    fn run_started(&self, id: &RunId) {
        self.said.run_started(id);
    }
}

async fn is_rejected(world: &World, message: IncomingMessage) {
    let channel = Arc::new(RejectedChannel::default());
    let io: Arc<RejectedChannel> = Arc::clone(&channel);
    world.core.dispatch(message, io).await;
    assert!(channel.said.said()[0].starts_with("⏳ The service is being restarted"));
    assert!(channel.said.started.lock().unwrap().is_empty());
}

async fn draining(world: &Arc<World>) -> JoinHandle<bool> {
    let core = world.core.clone();
    let drained = tokio::spawn(async move { core.drain(LONG).await });
    while !world.core.load().draining {
        tokio::task::yield_now().await;
    }
    drained
}

#[tokio::test(start_paused = true)]
async fn drain_ends_despite_new_requests() {
    let world = Arc::new(world(vec![Move::SayWhenReleased("done")]));
    let (first, running) = under_way(&world, "hello").await;
    let drained = draining(&world).await;
    for thread in ["default", "other", "third"] {
        let late = IncomingMessage {
            thread_key: ThreadKey::new(Platform::Http, "default", thread),
            ..message("and I")
        };
        is_rejected(&world, late).await;
        assert_eq!(world.core.load().in_flight, 1);
    }
    world.finish(running).await;
    assert!(drained.await.unwrap());
    assert_eq!(first.said(), ["done"]);
    is_rejected(&world, message("and I")).await;
    let runs: std::collections::BTreeSet<_> = world.records().into_iter().map(|record| record.id).collect();
    assert_eq!((runs.len(), world.core.registry().list().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn unread_follow_up_runs_during_a_drain() {
    let world = Arc::new(world(vec![Move::FailWhenReleased, Move::Say("answered all the same")]));
    let (_, running) = under_way(&world, "hello").await;
    let second = say(&world, message("one more")).await;
    let drained = draining(&world).await;
    world.finish(running).await;
    assert!(drained.await.unwrap());
    assert_eq!(second.said()[1], "answered all the same");
}
