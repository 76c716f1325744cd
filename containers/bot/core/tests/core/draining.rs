//! A drain rejects new requests and completes the accepted ones.

use std::{sync::Arc, time::Duration};

use ars_bot_ports::{ChannelEvent, IncomingMessage, Refusal};
use ars_types::{Platform, ThreadKey};
use tokio::task::JoinHandle;

use crate::support::*;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// A message is rejected by an announcement before the reply, and without reading the history.
async fn is_rejected(world: &World, message: IncomingMessage) {
    let io = say(world, message).await;
    let refusal = ChannelEvent::Refused(Refusal::ShuttingDown);
    assert_eq!(io.events(), [ChannelEvent::RejectedByShutdown, refusal]);
    assert!(io.said()[0].starts_with("⏳ The service is being restarted"));
    assert_eq!(io.history_reads(), 0);
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
    let runs: std::collections::BTreeSet<_> = world
        .records()
        .into_iter()
        .map(|record| record.id)
        .collect();
    assert_eq!((runs.len(), world.core.registry().list().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn unread_follow_up_runs_during_a_drain() {
    let world = Arc::new(world(vec![
        Move::FailWhenReleased,
        Move::Say("answered all the same"),
    ]));
    let (_, running) = under_way(&world, "hello").await;
    let second = say(&world, message("one more")).await;
    let drained = draining(&world).await;
    world.finish(running).await;
    assert!(drained.await.unwrap());
    assert_eq!(second.said()[1], "answered all the same");
}
