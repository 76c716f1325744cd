//! One run in the registry, and the handle its driver publishes through.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ars_events::{Actor, Event, EventBody, NoteKind, Redactor};
use ars_types::{RunId, RunStatus, StopMode, UnixMillis};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    IndexChange, Registry, RunFacts,
    backlog::{Backlog, Kept},
};

/// A run's state at one moment.
#[derive(Debug, Clone)]
pub struct LiveRun {
    /// The run.
    pub id: RunId,
    /// What was known at its creation.
    pub facts: RunFacts,
    /// Its capability token: for links on gated pages only.
    pub token: String,
    /// When it was created.
    pub started_at: UnixMillis,
    /// When and how it finished.
    pub finished: Option<(UnixMillis, RunStatus)>,
    /// When it was sealed, and whether its reply was delivered.
    pub sealed: Option<(UnixMillis, Option<bool>)>,
    /// How it was asked to stop.
    pub stop: Option<StopMode>,
    /// Events published.
    pub event_count: u64,
    /// Kept events' JSON, in order.
    pub events: Vec<Arc<str>>,
}

/// How a run is asked to stop.
#[derive(Debug, Clone)]
pub struct Stops {
    /// Fires on a soft stop, and also on a hard one.
    pub soft: CancellationToken,
    /// Fires on a hard stop.
    pub hard: CancellationToken,
}

pub(super) struct Run {
    id: RunId,
    token: String,
    facts: RunFacts,
    started_at: UnixMillis,
    redactor: Arc<Redactor>,
    stops: Stops,
    state: Mutex<State>,
    /// Counts changes; every viewer waits on it.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) backlog: Backlog,
    pub(super) last_seq: u64,
    pub(super) finished: Option<(UnixMillis, RunStatus)>,
    pub(super) sealed: Option<(UnixMillis, Option<bool>)>,
    stop: Option<StopMode>,
}

impl Run {
    pub(super) fn new(
        id: RunId,
        token: String,
        facts: RunFacts,
        started_at: UnixMillis,
        redactor: &Arc<Redactor>,
    ) -> Self {
        let stops = Stops { soft: CancellationToken::new(), hard: CancellationToken::new() };
        let (changes, _) = watch::channel(0);
        let redactor = Arc::clone(redactor);
        Self { id, token, facts, started_at, redactor, stops, state: Mutex::default(), changes }
    }

    pub(super) fn id(&self) -> &RunId {
        &self.id
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn finished_at(&self) -> Option<UnixMillis> {
        self.lock().finished.map(|(at, _)| at)
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn view(&self) -> LiveRun {
        let state = self.lock();
        LiveRun {
            id: self.id.clone(),
            facts: self.facts.clone(),
            token: self.token.clone(),
            started_at: self.started_at,
            finished: state.finished,
            sealed: state.sealed,
            stop: state.stop,
            event_count: state.last_seq,
            events: state.backlog.after(0).map(|kept| Arc::clone(&kept.json)).collect(),
        }
    }

    /// Records the request and fires the signals; false when the run has finished. Hard never goes back to soft.
    pub(super) fn ask_stop(&self, mode: StopMode, actor: Option<Actor>, now: UnixMillis) -> bool {
        {
            let mut state = self.lock();
            if state.finished.is_some() {
                return false;
            }
            if state.stop >= Some(mode) {
                return true;
            }
            state.stop = Some(mode);
            let note = EventBody::RunNote {
                kind: NoteKind::StopRequested,
                summary: format!("{mode} stop requested"),
                mode: Some(mode),
                actor,
                from: None,
                to: None,
            };
            self.append(&mut state, note, now);
        }
        self.stops.soft.cancel();
        if mode == StopMode::Hard {
            self.stops.hard.cancel();
        }
        true
    }

    /// Numbers, cleans and keeps an event. After the finish only span records still count, until the seal.
    fn publish(&self, body: EventBody, now: UnixMillis) {
        let mut state = self.lock();
        let is_span = matches!(body, EventBody::SpanStart { .. } | EventBody::SpanEnd { .. });
        if state.sealed.is_some() || (state.finished.is_some() && !is_span) {
            return;
        }
        self.append(&mut state, body, now);
    }

    fn append(&self, state: &mut State, body: EventBody, now: UnixMillis) {
        let belongs_to_head =
            matches!(body, EventBody::Input { .. } | EventBody::Context { .. } | EventBody::RunMeta { .. })
                || matches!(&body, EventBody::SpanStart { name, .. } | EventBody::SpanEnd { name, .. }
                    if name == "request" || name.starts_with("dispatch."));
        let body = self.redactor.redact_event(body);
        let event = Event { body, seq: state.last_seq + 1, at: Some(now), span_id: None };
        // An event is plain data with string keys, so it always has a JSON form; were it ever not so, the seq is
        // not used up and the stream keeps no gap.
        let Ok(json) = serde_json::to_string(&event) else { return };
        state.last_seq = event.seq;
        state.backlog.push(Kept { seq: event.seq, json: json.into() }, belongs_to_head);
        self.changes.send_modify(|count| *count += 1);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the driver of a run holds. One per run: not `Clone`, so that a run is finished and sealed once.
pub struct RunHandle {
    run: Arc<Run>,
    registry: Registry,
}

impl RunHandle {
    pub(super) fn new(run: Arc<Run>, registry: Registry) -> Self {
        Self { run, registry }
    }

    /// The run.
    pub fn id(&self) -> &RunId {
        &self.run.id
    }

    /// Publishes an event now.
    pub fn publish(&self, body: EventBody) {
        self.run.publish(body, self.registry.now());
    }

    /// Publishes an event that happened earlier, such as a stage before the run was created.
    pub fn publish_at(&self, body: EventBody, at: UnixMillis) {
        self.run.publish(body, at);
    }

    /// How the run is asked to stop.
    pub fn stops(&self) -> Stops {
        self.run.stops.clone()
    }

    /// Marks the run finished; the first status wins.
    pub fn finish(&self, status: RunStatus) {
        let now = self.registry.now();
        self.run.lock().finished.get_or_insert((now, status));
        self.notify();
    }

    /// Ends the stream.
    pub fn seal(&self, reply_ok: Option<bool>) {
        let now = self.registry.now();
        self.run.lock().sealed.get_or_insert((now, reply_ok));
        self.notify();
    }

    /// The run's state now.
    pub fn view(&self) -> LiveRun {
        self.run.view()
    }

    fn notify(&self) {
        self.run.changes.send_modify(|count| *count += 1);
        self.registry.changed(IndexChange::Upsert(self.run.id.clone()));
    }
}
