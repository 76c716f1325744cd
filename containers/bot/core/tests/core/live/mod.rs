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

use crate::support::{Move, RecordingChannel, ScriptedLedger, World, message};

/// A process in the first generation.
fn world_of(ledger: &Arc<ScriptedLedger>, moves: Vec<Move>) -> Arc<World> {
    Arc::new(ledger.process("g1", moves))
}

async fn say(world: &World, text: &str) -> Arc<RecordingChannel> {
    crate::support::say(world, message(text)).await
}
