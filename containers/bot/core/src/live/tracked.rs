//! One run in the ledger, as its driver sees it.
//!
//! The order that everything rests on: the step's turns first, its record second, and no side effect before both are
//! acknowledged (state-worker supplement section 10.2).

use std::{
    sync::{
        Arc, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ars_agent::{Loop, Position, ToolCall, resume};
use ars_bot_ports::{Owned, StoreError, StoreErrorKind};
use ars_types::{RunStatus, UnixMillis};
use ars_wire::ledger::{Call, StepRecord};
use serde_json::{Map, Value};
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Live, conversation::Conversation, is_transient, slot::Slot};

/// Waits between attempts to store a step that must be stored: short ones for a hiccup.
const STEP_WAITS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(2)];
/// The wait after those, for as long as the outage lasts.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// How long the ledger is asked for its leave to reply, attempts that hang included. With the heartbeat's interval before
/// it, still within the lease: as long as it holds, nobody else can take the run and reply too.
const GATE_PATIENCE: Duration = Duration::from_secs(18);
/// What each request to it gets when that is used up: a process that stood still has asked nothing in all that time. Two of
/// them are within the lease too.
const LEAST_PATIENCE: Duration = Duration::from_millis(750);
/// How long a run that is handed off waits for what is not written yet (state-worker supplement section 9.1).
const PENDING_WRITES: Duration = Duration::from_secs(6);
/// Between two attempts to write it.
const PENDING_AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Field of the run's state: the token with which its viewers come back, wherever it goes on.
pub(crate) const VIEW_TOKEN: &str = "viewToken";
/// Field of the run's state: events that say what it was asked, until the ledger has them.
pub(crate) const HEAD: &str = "head";
/// Field of the run's state: its part in memory, where there is any.
pub(crate) const MEMORY: &str = "memory";
/// Field of the run's state: whether the reply is known to be delivered. `false` from before it is tried.
pub(crate) const REPLIED: &str = "replied";

/// A tracked run.
pub struct Tracked {
    live: Live,
    slot: Arc<Slot>,
    /// Held while a step is stored: steps are stored one after the other.
    conversation: Mutex<Conversation>,
    state: std::sync::Mutex<State>,
    /// The last event of its head: what it was asked, and where it came from.
    head: u64,
    /// Another process could go on where the stored step stands.
    is_resumable: AtomicBool,
}

/// What the run's row keeps beside its steps, as this process knows it.
struct State {
    fields: Map<String, Value>,
    /// The row does not have all of it.
    is_dirty: bool,
}

/// Where the loop stands before the calls of a step.
pub struct Step<'a> {
    /// The loop.
    pub agent_loop: &'a Loop,
    /// The calls that follow.
    pub calls: &'a [ToolCall],
    /// The last event's seq.
    pub seq: u64,
    /// The moment.
    pub now: UnixMillis,
}

/// What became of storing a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepped {
    /// It is durable.
    Stored,
    /// It is not, and whoever resumes will know less than this process.
    NotStored,
    /// The run is another generation's.
    Lost,
}

/// Whether the run may reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// This process alone may.
    Open,
    /// Another process has the run, or has replied.
    Closed,
    /// The ledger does not answer: it replies as if there were none.
    Unavailable,
}

impl Tracked {
    pub(super) fn new(live: Live, slot: Arc<Slot>, view_token: &str, head: u64) -> Self {
        let fields = Map::from_iter([(VIEW_TOKEN.to_owned(), Value::from(view_token))]);
        let state = std::sync::Mutex::new(State { fields, is_dirty: true });
        let conversation = Mutex::default();
        Self { live, slot, conversation, state, head, is_resumable: AtomicBool::new(false) }
    }

    /// Says what every model call is told, and what the run has to do with memory. The next step stores both first.
    pub fn specify(&self, system: &str, memory: Option<Value>) {
        self.set([(resume::SYSTEM, Value::from(system))]);
        if let Some(memory) = memory {
            self.set([(MEMORY, memory)]);
        }
    }

    /// Goes on with what another process stored: so many turns, of this size.
    pub async fn adopt(&self, turns: u64, size: usize, state: Map<String, Value>) {
        *self.conversation.lock().await = Conversation::of(turns, size);
        self.state().fields.extend(state);
        self.is_resumable.store(true, Ordering::Release);
    }

    /// Whether the run may be left to another process. One of which no step is stored, or that went on after a step
    /// which could not be, holds the drain instead (state-worker supplement section 9.1).
    pub fn is_resumable(&self) -> bool {
        self.is_resumable.load(Ordering::Acquire)
    }

    /// The run turned out to be another generation's.
    pub fn is_lost(&self) -> bool {
        self.slot.is_lost()
    }

    /// Stores a step. One that `must` be stored, because it precedes calls that a resume must not repeat unawares, is
    /// tried until it is, or `give_up` fires.
    pub async fn step(&self, step: &Step<'_>, must: bool, give_up: &CancellationToken) -> Stepped {
        let at = step.agent_loop.position(step.now);
        let mut waits = STEP_WAITS.into_iter().chain(std::iter::repeat(LAST_WAIT));
        loop {
            let tried = match self.try_step(step, &at).await {
                // What cannot be stored at any attempt is said instead: nobody resumes what it does not know.
                Err(error) if must && !is_transient(&error) => {
                    tracing::warn!(run = %self.slot.run(), step = at.step, error = %error, "run not resumable");
                    self.is_resumable.store(false, Ordering::Release);
                    self.set([(resume::UNRESUMABLE, Value::from(at.step))]);
                    self.try_state().await
                }
                tried => tried,
            };
            match self.judge(tried, "step not stored") {
                Stepped::NotStored if must => {}
                Stepped::Stored => {
                    // Sticky: what was done after a step that was not stored is in no later record either.
                    self.is_resumable.store(!self.has(resume::UNRESUMABLE), Ordering::Release);
                    return Stepped::Stored;
                }
                stepped => return stepped,
            }
            tokio::select! {
                () = tokio::time::sleep(waits.next().unwrap_or(LAST_WAIT)) => {}
                () = give_up.cancelled() => return Stepped::NotStored,
            }
        }
    }

    /// What came of a write, for the run.
    fn judge(&self, tried: Result<Owned, StoreError>, failure: &'static str) -> Stepped {
        match tried {
            Ok(Owned::Done(())) => Stepped::Stored,
            Ok(Owned::Fenced | Owned::UnknownRun) => {
                self.slot.lose();
                Stepped::Lost
            }
            Err(error) => {
                tracing::warn!(run = %self.slot.run(), error = %error, "{failure}");
                Stepped::NotStored
            }
        }
    }

    async fn try_step(&self, step: &Step<'_>, at: &Position) -> Result<Owned, StoreError> {
        let mut conversation = self.conversation.lock().await;
        // Once the step says that a follow-up was read, nobody feeds it again: its event must not be lost then.
        if at.inbox_consumed_seq > conversation.inbox_consumed() {
            self.live.flush_run(&self.slot).await?;
        }
        let owner = &self.slot.owner;
        let unstored = step.agent_loop.turns_since(conversation.stored());
        if conversation.stored() + unstored.len() as u64 != at.turn_index {
            // The loop has replaced turns that an earlier, failed step left unstored: what is kept has a hole for good.
            let message = "turns of an earlier step were not stored and are not kept".to_owned();
            return Err(StoreError { kind: StoreErrorKind::Permanent, message });
        }
        // What a resume needs to know of the run comes before what makes it resumable.
        self.keep_head();
        if self.state().is_dirty
            && let refused @ (Owned::Fenced | Owned::UnknownRun) = self.try_state().await?
        {
            return Ok(refused);
        }
        let transcripts = self.live.transcripts();
        let written = conversation.append(transcripts, owner, unstored, at.inbox_consumed_seq).await?;
        let Owned::Done(()) = written else { return Ok(written) };
        let calls =
            step.calls.iter().map(|call| Call { call_id: call.call_id.clone(), tool: call.name.clone() });
        let mut record = StepRecord {
            step: at.step,
            seq: step.seq,
            turn_index: conversation.stored(),
            in_flight: calls.collect(),
            inbox_consumed_seq: at.inbox_consumed_seq,
            remaining_ms: at.remaining_ms,
            turn: at.turn,
            iteration: at.iteration,
            extra: Map::new(),
        };
        step.agent_loop.saved().store(&mut record.extra);
        self.live.ledger().step(owner, &record).await
    }

    /// Tells the ledger how the run ends, and asks for the right to say so.
    pub async fn finishing(&self, status: RunStatus) -> Gate {
        self.set([(resume::FINAL_STATUS, Value::from(status.as_str())), (REPLIED, Value::from(false))]);
        let until = Instant::now() + GATE_PATIENCE;
        let mut waits = STEP_WAITS.into_iter().chain(std::iter::repeat(LAST_WAIT));
        let (mut has_asked, mut is_last) = (false, false);
        loop {
            let error = match self.ask_for_leave(until, &mut has_asked).await {
                Ok(Owned::Done(())) => return Gate::Open,
                Ok(Owned::Fenced | Owned::UnknownRun) => {
                    self.slot.lose();
                    return Gate::Closed;
                }
                Err(error) => error,
            };
            let wait = waits.next().unwrap_or(LAST_WAIT);
            let is_late = Instant::now() + wait > until;
            // Who has asked already may have the leave, and would be refused a second one.
            if !is_transient(&error) || is_last || (is_late && has_asked) {
                tracing::warn!(run = %self.slot.run(), error = %error, "replying without the ledger's leave");
                return Gate::Unavailable;
            }
            is_last = is_late;
            if !is_late {
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// The state first: a run that is found in `finishing` without one is taken for one that has replied, although the
    /// answer to its process may have been lost (state-worker supplement section 9.5).
    async fn ask_for_leave(&self, until: Instant, has_asked: &mut bool) -> Result<Owned, StoreError> {
        match answered(until, self.try_state()).await? {
            Owned::Done(()) => {
                *has_asked = true;
                answered(until, self.live.ledger().finishing(&self.slot.owner)).await
            }
            refused => Ok(refused),
        }
    }

    /// The reply was tried: whoever closes the run in this process's place knows that it may say how it ended.
    pub async fn replied(&self) {
        self.patch(REPLIED, Value::from(true)).await;
    }

    /// Hears what was left for the run up to now. False when the ledger did not answer, and may yet: the record has the
    /// events, but follow-ups that only the ledger has are unknown.
    pub async fn last_news(&self) -> bool {
        match self.live.flush_run(&self.slot).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(run = %self.slot.run(), error = %error, "the run's last news are not known");
                !is_transient(&error)
            }
        }
    }

    /// Offers the run to the next generation; false when it was not taken up.
    pub async fn hand_off(&self) -> bool {
        let run = self.slot.run();
        if tokio::time::timeout(PENDING_WRITES, self.flush_all()).await.is_err() {
            tracing::warn!(run = %run, "run handed off without its last events");
        }
        self.detach();
        match self.live.ledger().handoff(self.live.generation(), std::slice::from_ref(run)).await {
            Ok(marked) => marked.contains(run),
            Err(error) => {
                // Its lease lapses by itself, a little later.
                tracing::warn!(run = %run, error = %error, "run not handed off");
                false
            }
        }
    }

    /// Flushes until the ledger has everything.
    async fn flush_all(&self) {
        while self.live.flush_run(&self.slot).await.is_err() {
            tokio::time::sleep(PENDING_AGAIN_AFTER).await;
        }
    }

    /// Sets one field of the run's state.
    pub async fn patch(&self, field: &str, value: Value) -> Stepped {
        self.set([(field, value)]);
        self.store_state().await
    }

    /// No flush carries the run any more.
    pub fn detach(&self) {
        self.live.forget(self.slot.run());
    }

    fn set<const N: usize>(&self, fields: [(&str, Value); N]) {
        let mut state = self.state();
        state.fields.extend(fields.into_iter().map(|(field, value)| (field.to_owned(), value)));
        state.is_dirty = true;
    }

    fn has(&self, field: &str) -> bool {
        self.state().fields.contains_key(field)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the run's state as it is.
    pub async fn store_state(&self) -> Stepped {
        let tried = self.try_state().await;
        self.judge(tried, "run state not stored")
    }

    /// Has the state hold those events of the head that the ledger lacks: a flush of its own for each run that begins
    /// would be a request more for each (docs/decisions/0007).
    fn keep_head(&self) {
        let unflushed = self.slot.unflushed().1.into_iter().take_while(|event| event.seq <= self.head);
        let head: Vec<Value> = unflushed.filter_map(|event| serde_json::from_str(&event.json).ok()).collect();
        let mut state = self.state();
        if head.is_empty() {
            // Not worth a request: it goes when the state is stored next.
            state.fields.remove(HEAD);
        } else if !state.fields.contains_key(HEAD) {
            state.fields.insert(HEAD.to_owned(), Value::from(head));
            state.is_dirty = true;
        }
    }

    async fn try_state(&self) -> Result<Owned, StoreError> {
        let fields = {
            let mut state = self.state();
            state.is_dirty = false;
            state.fields.clone()
        };
        let tried = self.live.ledger().state(&self.slot.owner, &fields).await;
        if tried.is_err() {
            self.state().is_dirty = true;
        }
        tried
    }
}

/// What is answered until then, or a moment after the request began.
async fn answered<T>(
    until: Instant,
    request: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let until = until.max(Instant::now() + LEAST_PATIENCE);
    tokio::time::timeout_at(until, request).await.unwrap_or_else(|_elapsed| {
        Err(StoreError { kind: StoreErrorKind::Transient, message: "no answer in time".to_owned() })
    })
}

impl Drop for Tracked {
    /// A driver that ends in any way leaves nothing to flush.
    fn drop(&mut self) {
        self.detach();
    }
}
