//! Viewers: one per process that follows its runs through the registry. A viewer reconnects to
//! another process when a stream ends early, like a browser with `Last-Event-ID`.
//!
//! Not here: the streams' wire format (`containers/bot/http/tests`).

use std::{collections::BTreeMap, sync::Arc};

use ars_bot_core::registry::{Frame, IndexChange, Registry, Subscription};
use ars_types::RunId;
use serde_json::Value;

use crate::{evidence::Evidence, lifetime::Lifetime};

/// A viewer's view of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The view's streams, in order.
    pub streams: Vec<Stream>,
    /// The process with the stream that was completed.
    pub ended_at: Option<String>,
}

/// A stream, from connection to end.
#[derive(Debug, PartialEq, Eq)]
pub struct Stream {
    /// The process that served it.
    pub process: String,
    /// The `Last-Event-ID` that was sent.
    pub after: u64,
    /// Events, in arrival order.
    pub shown: Vec<(u64, Value)>,
    /// Whether events were omitted because they are no longer kept.
    pub is_elided: bool,
}

impl View {
    /// Opens another stream after the seen events. Returns the stream number and position.
    fn connect(&mut self, process: &str) -> (usize, u64) {
        let last = self
            .streams
            .iter()
            .rev()
            .find_map(|stream| stream.shown.last());
        let after = last.map_or(0, |(seq, _)| *seq);
        let process = process.to_owned();
        let shown = Vec::new();
        self.streams.push(Stream {
            process,
            after,
            shown,
            is_elided: false,
        });
        (self.streams.len(), after)
    }
}

/// Follows all runs in a process, for its own viewer and for viewers from other processes.
pub(crate) async fn watch(life: Arc<Lifetime>, registry: Registry) {
    let mut index = registry.subscribe_index();
    let mut opened = BTreeMap::new();
    loop {
        let change = tokio::select! {
            biased;
            () = life.ended() => return,
            change = index.recv() => change,
        };
        let Ok(change) = change else { return };
        let id = match change {
            IndexChange::Upsert(id) => id,
            // The streams have ended. A run that returns gets another stream.
            IndexChange::Removed(id) => {
                opened.remove(&id);
                continue;
            }
        };
        let Some(run) = registry.get(&id) else {
            continue;
        };
        // A run restored under another token gets another stream too.
        if opened.insert(id.clone(), run.token.clone()).as_ref() == Some(&run.token) {
            continue;
        }
        for (viewer, number, after) in connect(&mut life.world.evidence(), &id, &life.name) {
            if let Some(subscription) = registry.subscribe(&id, &run.token, after) {
                tokio::spawn(page(
                    Arc::clone(&life),
                    (id.to_string(), viewer),
                    number,
                    subscription,
                ));
            }
        }
    }
}

/// Connects a run's viewers to a process. Returns their names, stream numbers and positions.
fn connect(evidence: &mut Evidence, run: &RunId, process: &str) -> Vec<(String, usize, u64)> {
    evidence
        .views
        .entry((run.to_string(), process.to_owned()))
        .or_default();
    let views = evidence
        .views
        .iter_mut()
        .filter(|((of, _), view)| of == run.as_str() && view.ended_at.is_none());
    let connected = views.map(|((_, viewer), view)| {
        let (number, after) = view.connect(process);
        (viewer.clone(), number, after)
    });
    connected.collect()
}

/// Follows a viewer's stream until it ends or the viewer connects elsewhere.
async fn page(
    life: Arc<Lifetime>,
    view: (String, String),
    number: usize,
    mut subscription: Subscription,
) {
    loop {
        let frames = tokio::select! {
            biased;
            () = life.ended() => return,
            frames = subscription.next() => frames,
        };
        life.alive().await;
        let mut evidence = life.world.evidence();
        let (Some(frames), Some(view)) = (frames, evidence.views.get_mut(&view)) else {
            return;
        };
        if view.streams.len() != number {
            return;
        }
        frames.iter().for_each(|frame| view.take_in(frame));
    }
}

impl View {
    fn take_in(&mut self, frame: &Frame) {
        let Some(stream) = self.streams.last_mut() else {
            return;
        };
        match frame {
            Frame::Event { seq, json } => stream
                .shown
                .push((*seq, serde_json::from_str(json).unwrap())),
            Frame::Elided { .. } => stream.is_elided = true,
            Frame::Finished { .. } => {}
            Frame::End { .. } => self.ended_at = Some(stream.process.clone()),
        }
    }
}
