//! Runs that outlast their process, against a ledger with scripted failures.

mod flush;
mod leaving;
mod passing_on;
mod preparing;
mod remembering;
mod spending;
mod stopped;
mod trees;
mod unread;

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::support::{Collector, Move, Reopening, ScriptedLedger, World, message, world_with};

/// A process of the first generation.
fn world_of(ledger: &Arc<ScriptedLedger>, moves: Vec<Move>) -> Arc<World> {
    let channels = Arc::new(Reopening(Arc::new(Collector::default())));
    Arc::new(world_with(moves, ledger.capability("g1", channels)))
}

/// A live request.
fn begin(world: &Arc<World>, text: &'static str) -> (Arc<Collector>, JoinHandle<()>) {
    let io = Arc::new(Collector::default());
    let running = tokio::spawn({
        let (world, io) = (Arc::clone(world), Arc::clone(&io));
        async move { world.dispatch(text, &io).await }
    });
    (io, running)
}

async fn say(world: &World, text: &str) -> Arc<Collector> {
    let io = Arc::new(Collector::default());
    let channel: Arc<Collector> = Arc::clone(&io);
    world.core.dispatch(message(text), channel).await;
    io
}
