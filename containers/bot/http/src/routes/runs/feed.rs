//! `GET /runs?stream=1`: the index as it changes. First the current set, newest first; never ends by itself.

use std::collections::HashSet;

use ars_bot_core::registry::{IndexChange, LiveRun, Registry};
use ars_events::sse::frames;
use ars_types::RunId;
use axum::response::Response;
use futures::{Stream, stream};
use serde_json::json;
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, Interval, interval_at},
};

use crate::{pages::Row, serve::Closing, sse, state::HttpState, viewer::Viewer};

/// One viewer of the index.
struct Feed {
    registry: Registry,
    viewer: Viewer,
    changes: Receiver<IndexChange>,
    /// What the viewer was shown: it never learns of the removal of anything else.
    shown: HashSet<RunId>,
    /// Finished runs leave the registry when somebody looks; this viewer looks now and then.
    look: Interval,
    replayed: bool,
}

/// The stream.
pub(super) fn feed(state: &HttpState, viewer: Viewer, closing: Option<Closing>) -> Response {
    let registry = state.core.registry().clone();
    let every = frames::KEEPALIVE_EVERY;
    let feed = Feed {
        // Subscribed before the set is read, so that no change falls between.
        changes: registry.subscribe_index(),
        registry,
        viewer,
        shown: HashSet::new(),
        look: interval_at(Instant::now() + every, every),
        replayed: false,
    };
    sse::response(frames_of(feed), closing)
}

fn frames_of(feed: Feed) -> impl Stream<Item = String> {
    stream::unfold(feed, |mut feed| async move {
        let text = feed.next().await?;
        Some((text, feed))
    })
}

impl Feed {
    async fn next(&mut self) -> Option<String> {
        if !self.replayed {
            self.replayed = true;
            let text = self.whole_set();
            if !text.is_empty() {
                return Some(text);
            }
        }
        loop {
            let text = tokio::select! {
                change = self.changes.recv() => match change {
                    Ok(IndexChange::Upsert(id)) => self.registry.get(&id).and_then(|run| self.upsert(&run)),
                    Ok(IndexChange::Removed(id)) => self.removed(&id),
                    // Changes were missed; the whole set says what they came to.
                    Err(RecvError::Lagged(_)) => Some(self.whole_set()),
                    Err(RecvError::Closed) => return None,
                },
                _ = self.look.tick() => {
                    self.registry.list();
                    None
                }
            };
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                return Some(text);
            }
        }
    }

    fn whole_set(&mut self) -> String {
        let runs = self.registry.list();
        let gone: Vec<RunId> =
            self.shown.iter().filter(|id| !runs.iter().any(|run| run.id == **id)).cloned().collect();
        let removed: Vec<String> = gone.iter().filter_map(|id| self.removed(id)).collect();
        let upserts: Vec<String> = runs.iter().filter_map(|run| self.upsert(run)).collect();
        removed.concat() + &upserts.concat()
    }

    fn upsert(&mut self, run: &LiveRun) -> Option<String> {
        let facts = &run.facts;
        if !self.viewer.may_read(&facts.channel_id, facts.visibility, &facts.user_id) {
            return None;
        }
        self.shown.insert(run.id.clone());
        Some(frames::data(&json!({"type": "upsert", "run": Row::of_live(run)}).to_string()))
    }

    fn removed(&mut self, id: &RunId) -> Option<String> {
        self.shown.remove(id).then(|| frames::data(&json!({"type": "removed", "id": id}).to_string()))
    }
}
