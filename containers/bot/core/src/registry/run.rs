//! A registered run, the handle that the driver publishes through, and the feed for the ledger.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ars_bot_ports::Overload;
use ars_events::{Actor, Event, EventBody, NoteKind, Redactor};
use ars_runs::PostedReviewFact;
use ars_types::{RunId, RunStatus, StopMode, UnixMillis};
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{
    IndexChange, Registry, RunFacts,
    backlog::{Backlog, Kept},
    run_use::RunUse,
};

/// A snapshot of a run's state.
#[derive(Debug, Clone)]
pub struct LiveRun {
    /// Id of the run.
    pub id: RunId,
    /// Facts known at creation.
    pub facts: RunFacts,
    /// Capability token, for links on gated pages only.
    pub token: String,
    /// When it was created.
    pub started_at: UnixMillis,
    /// When and how it finished.
    pub finished: Option<(UnixMillis, RunStatus)>,
    /// Cost in millionths of a dollar, once known.
    pub cost: Option<u64>,
    /// The reflection's cost, if the run reflected.
    pub reflection_cost: Option<u64>,
    /// The review that it posted on the code host.
    pub posted_review: Option<PostedReviewFact>,
    /// When it was sealed, and whether the reply was delivered.
    pub sealed: Option<(UnixMillis, Option<bool>)>,
    /// The final record is being written, or is written.
    pub is_recording: bool,
    /// The stop, once requested.
    pub stop: Option<StopMode>,
    /// Place among the runs that wait for a slot, until it starts.
    pub queue: Option<QueuePlace>,
    /// What it has used, counted over all events.
    pub used: RunUse,
    /// How this process restored it, if another process began it.
    pub restored: Option<Restored>,
    /// Number of published events.
    pub event_count: u64,
    /// The kept events' JSON, in order.
    pub events: Vec<Arc<str>>,
}

/// Where a process continued another process's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// When the run was restored.
    pub at: UnixMillis,
    /// The last stored seq. The earlier process's later seqs were lost and are given to other
    /// events.
    pub after_seq: u64,
}

/// A waiting run's place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    /// The first run to start has position 1.
    pub position: u32,
    /// The limit that leaves no slot free for it.
    pub limit: Option<Overload>,
}

/// A run's initial state.
#[derive(Clone, Default)]
pub struct Origin {
    /// The capability token, or `None` for a new token.
    pub token: Option<String>,
    /// When it was created.
    pub started_at: UnixMillis,
    /// The events so far: seq and JSON, in order.
    pub events: Vec<Kept>,
    /// The stop, once requested.
    pub stop: Option<StopMode>,
    /// When this process restored it.
    /// `None` unless another process began it, which may have published more than these events.
    pub restored_at: Option<UnixMillis>,
}

/// A run's stop signals.
#[derive(Debug, Clone)]
pub struct Stops {
    /// Fires on a soft and on a hard stop.
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
    /// Counts changes. Every viewer waits for it.
    changes: watch::Sender<u64>,
    /// Notified at each multiple of an event count.
    nudge: OnceLock<(u64, Arc<Notify>)>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) backlog: Backlog,
    pub(super) last_seq: u64,
    used: RunUse,
    restored: Option<Restored>,
    /// The highest position reported by a viewer that disconnected from this process.
    left_at: u64,
    pub(super) finished: Option<(UnixMillis, RunStatus)>,
    cost: Option<u64>,
    pub(super) reflection_cost: Option<u64>,
    posted_review: Option<PostedReviewFact>,
    pub(super) sealed: Option<(UnixMillis, Option<bool>)>,
    is_recording: bool,
    stop: Option<StopMode>,
    queue: Option<QueuePlace>,
    /// Another process owns it.
    pub(super) is_gone: bool,
}

impl State {
    /// Returns the position for a viewer that reports everything up to `seq` as received.
    ///
    /// A position beyond a restored run's stored events that no viewer left this process with comes
    /// from the previous process. That process's events beyond the stored ones are lost, and their
    /// seqs reused (docs/decisions/0011).
    pub(super) fn position(&self, seq: u64) -> u64 {
        match self.restored {
            Some(Restored { after_seq, .. }) if seq > after_seq.max(self.left_at) => after_seq,
            _ => seq.min(self.last_seq),
        }
    }

    /// Records a disconnecting viewer's position.
    pub(super) fn leave(&mut self, seq: u64) {
        self.left_at = self.left_at.max(seq);
    }
}

impl Run {
    pub(super) fn new(
        id: RunId,
        token: String,
        facts: RunFacts,
        origin: Origin,
        redactor: &Arc<Redactor>,
    ) -> Self {
        let Origin {
            token: _,
            started_at,
            events,
            stop,
            restored_at,
        } = origin;
        let mut state = State {
            stop,
            ..State::default()
        };
        for event in events {
            state.last_seq = event.seq;
            let belongs_to_head = is_head_json(&event.json);
            if let Ok(stored) = serde_json::from_str::<Value>(&event.json) {
                state.used.add_json(&stored, facts.model.as_deref());
            }
            state.backlog.push(event, belongs_to_head);
        }
        state.restored = restored_at.map(|at| Restored {
            at,
            after_seq: state.last_seq,
        });
        let stops = Stops {
            soft: CancellationToken::new(),
            hard: CancellationToken::new(),
        };
        let run = Self {
            id,
            token,
            facts,
            started_at,
            redactor: Arc::clone(redactor),
            stops,
            state: Mutex::new(state),
            changes: watch::channel(0).0,
            nudge: OnceLock::new(),
        };
        if let Some(mode) = stop {
            run.fire(mode);
        }
        run
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
            cost: state.cost,
            reflection_cost: state.reflection_cost,
            posted_review: state.posted_review.clone(),
            sealed: state.sealed,
            is_recording: state.is_recording,
            stop: state.stop,
            queue: state.queue,
            used: state.used,
            restored: state.restored,
            event_count: state.last_seq,
            events: state
                .backlog
                .after(0)
                .map(|kept| Arc::clone(&kept.json))
                .collect(),
        }
    }

    /// Records the stop and fires the signals.
    /// Returns `false` when the run has finished. A hard stop never becomes soft.
    pub(super) fn request_stop(
        &self,
        mode: StopMode,
        actor: Option<Actor>,
        now: UnixMillis,
    ) -> bool {
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
        self.fire(mode);
        true
    }

    fn fire(&self, mode: StopMode) {
        self.stops.soft.cancel();
        if mode == StopMode::Hard {
            self.stops.hard.cancel();
        }
    }

    /// Cancels the driver like a hard stop, without an event.
    pub(super) fn abort(&self) {
        self.fire(StopMode::Hard);
    }

    /// Ends the viewers' streams without an event, so that they reconnect to the run's owner.
    pub(super) fn go(&self) {
        self.lock().is_gone = true;
        self.changes.send_modify(|count| *count += 1);
    }

    /// Numbers, redacts and keeps an event; after the finish it accepts only span records until the seal.
    fn publish(&self, body: EventBody, now: UnixMillis) {
        let mut state = self.lock();
        let is_span = matches!(
            body,
            EventBody::SpanStart { .. } | EventBody::SpanEnd { .. }
        );
        if state.sealed.is_some() || (state.finished.is_some() && !is_span) {
            return;
        }
        self.append(&mut state, body, now);
    }

    fn append(&self, state: &mut State, body: EventBody, now: UnixMillis) {
        let belongs_to_head = is_head(&body);
        let body = self.redactor.redact_event(body);
        state.used.add(&body, self.facts.model.as_deref());
        let event = Event {
            body,
            seq: state.last_seq + 1,
            at: Some(now),
            span_id: None,
        };
        // An event has string keys and always serializes. If it did not, the seq would stay unused,
        // without a gap.
        let Ok(json) = serde_json::to_string(&event) else {
            return;
        };
        state.last_seq = event.seq;
        if let Some((every, nudge)) = self.nudge.get()
            && event.seq.is_multiple_of(*every)
        {
            nudge.notify_one();
        }
        state.backlog.push(
            Kept {
                seq: event.seq,
                json: json.into(),
            },
            belongs_to_head,
        );
        self.changes.send_modify(|count| *count += 1);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether an event belongs to a run's head, if only such events precede it.
fn is_head(body: &EventBody) -> bool {
    matches!(
        body,
        EventBody::Input { .. } | EventBody::Context { .. } | EventBody::RunMeta { .. }
    ) || matches!(
        body,
        EventBody::RunNote {
            kind: NoteKind::Queued | NoteKind::SpansDropped,
            ..
        }
    ) || matches!(&body, EventBody::SpanStart { name, .. } | EventBody::SpanEnd { name, .. }
            if name == "request" || name.starts_with("dispatch."))
}

/// The same for a stored event. An event with an unknown kind does not belong to it.
fn is_head_json(json: &str) -> bool {
    serde_json::from_str::<Event>(json).is_ok_and(|event| is_head(&event.body))
}

/// The driver's run handle. Not `Clone`, so that a run is finished and sealed once.
pub struct RunHandle {
    run: Arc<Run>,
    registry: Registry,
}

impl RunHandle {
    pub(super) fn new(run: Arc<Run>, registry: Registry) -> Self {
        Self { run, registry }
    }

    /// Returns the run id.
    pub fn id(&self) -> &RunId {
        &self.run.id
    }

    pub(crate) fn token(&self) -> &str {
        &self.run.token
    }

    /// Publishes an event with the current time.
    pub fn publish(&self, body: EventBody) {
        self.run.publish(body, self.registry.now());
    }

    /// Publishes an earlier event, such as a stage before the run was created.
    pub fn publish_at(&self, body: EventBody, at: UnixMillis) {
        self.run.publish(body, at);
    }

    /// Returns the last event's seq.
    pub fn last_seq(&self) -> u64 {
        self.run.lock().last_seq
    }

    /// Returns the run's feed for the ledger's flush.
    pub fn feed(&self) -> Feed {
        Feed {
            run: Arc::clone(&self.run),
            registry: self.registry.clone(),
        }
    }

    /// Notifies `nudge` at each multiple of `events`. Call it once per run.
    pub fn nudge_at_each(&self, events: u64, nudge: &Arc<Notify>) {
        drop(self.run.nudge.set((events, Arc::clone(nudge))));
    }

    /// Returns the stop signals.
    pub fn stops(&self) -> Stops {
        self.run.stops.clone()
    }

    /// Sets the run's cost. Call it before the finish, which viewers wait for.
    pub fn set_cost(&self, cost: Option<u64>) {
        self.run.lock().cost = cost;
    }

    /// Sets the review that the run posted, which the record keeps.
    pub fn set_posted_review(&self, review: PostedReviewFact) {
        self.run.lock().posted_review = Some(review);
    }

    /// Sets the run's place among those that wait for a slot, or that it waits no more.
    pub fn set_queue_place(&self, place: Option<QueuePlace>) {
        self.run.lock().queue = place;
        self.registry
            .changed(IndexChange::Upsert(self.run.id.clone()));
    }

    /// Marks the run finished. The first status wins.
    pub fn finish(&self, status: RunStatus) {
        let now = self.registry.now();
        self.run.lock().finished.get_or_insert((now, status));
        self.notify();
    }

    /// Ends the event stream.
    pub fn seal(&self, reply_ok: Option<bool>) {
        let now = self.registry.now();
        self.run.lock().sealed.get_or_insert((now, reply_ok));
        self.notify();
    }

    /// Marks the final record as started, so that this process starts no other record.
    pub(crate) fn recording(&self) {
        self.run.lock().is_recording = true;
    }

    /// Returns the run's current state.
    pub fn view(&self) -> LiveRun {
        self.run.view()
    }

    fn notify(&self) {
        self.run.changes.send_modify(|count| *count += 1);
        self.registry
            .changed(IndexChange::Upsert(self.run.id.clone()));
    }
}

/// A single run, for the ledger's flush: unflushed events, and stops from the ledger.
pub struct Feed {
    run: Arc<Run>,
    registry: Registry,
}

impl Feed {
    /// Returns the kept events after `seq`.
    pub fn after(&self, seq: u64) -> Vec<Kept> {
        self.run.lock().backlog.after(seq).cloned().collect()
    }

    /// Applies a stop from the ledger. A repeated mode changes nothing.
    pub fn request_stop(&self, mode: StopMode, actor: Option<Actor>) {
        self.registry.request_stop(&self.run, mode, actor);
    }

    /// Cancels the run's work without an event, because another process owns it.
    pub fn abort(&self) {
        self.run.abort();
    }
}
