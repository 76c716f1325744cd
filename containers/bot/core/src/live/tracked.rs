//! A run with a granted claim, as the driver sees it.
//!
//! Write order: the step's turns, then the record, and no side effect before both are acknowledged.
//! Not here: the run's end (`permit`).

use std::{
    sync::{
        Arc, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ars_agent::{
    Loop, Position, ToolCall,
    resume::{Attempts, RunState},
};
use ars_bot_ports::{Owned, StoreError, StoreErrorKind};
use ars_types::UnixMillis;
use ars_wire::ledger::{Call, StepRecord};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Live, conversation::Conversation, cursor::FlushCursor, is_transient};
use crate::{registry::RunHandle, threads::Mailbox};

/// First waits between attempts to store a step.
pub(super) const STEP_WAITS: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// The wait behind those, for the rest of an outage.
pub(super) const LAST_WAIT: Duration = Duration::from_secs(5);

/// A tracked run. The flush stops carrying it when it is dropped.
pub struct TrackedRun {
    pub(super) live: Live,
    pub(super) cursor: Arc<FlushCursor>,
    /// Locked while a step is stored, so that steps are stored in order.
    conversation: Mutex<Conversation>,
    state: std::sync::Mutex<LocalState>,
    /// Seq of the head's last event: the request and the context.
    head: u64,
    /// Whether another process could resume from the stored step.
    is_resumable: AtomicBool,
}

/// The run's durable state, as this process knows it.
struct LocalState {
    value: RunState,
    /// The row does not have all of it.
    is_dirty: bool,
}

/// The loop's position before a step's calls.
pub struct Step<'a> {
    /// The agent loop's state.
    pub agent_loop: &'a Loop,
    /// The calls that follow.
    pub calls: &'a [ToolCall],
    /// The last event's seq.
    pub seq: u64,
    /// When the step is stored.
    pub now: UnixMillis,
}

/// How storing a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepped {
    /// The step is durable.
    Stored,
    /// It is not durable, so a resume would start from an earlier step.
    NotStored,
    /// Another generation owns the run.
    Fenced,
}

/// How hard a step is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepDurability {
    /// Once: a resume may repeat the calls that follow.
    BestEffort,
    /// Until it is stored or the run is stopped: a resume must not repeat the calls that follow.
    Required,
}

impl Live {
    /// Adds a claimed or reclaimed run to the flush. The ledger has the events up to `flushed`. The
    /// present events are the head, which is stored with the first step at the latest, so that a
    /// resumed run still shows its request.
    pub fn track(&self, run: &RunHandle, mailbox: &Mailbox, flushed: u64) -> TrackedRun {
        let cursor = FlushCursor::new(self.owner(run.id()), run.feed(), mailbox.clone(), flushed);
        TrackedRun::new(
            self.clone(),
            self.insert(run, cursor),
            run.token(),
            run.last_seq(),
        )
    }
}

impl TrackedRun {
    fn new(live: Live, cursor: Arc<FlushCursor>, view_token: &str, head: u64) -> Self {
        let value = RunState {
            view_token: Some(view_token.to_owned()),
            ..RunState::default()
        };
        Self {
            live,
            cursor,
            conversation: Mutex::default(),
            state: std::sync::Mutex::new(LocalState {
                value,
                is_dirty: true,
            }),
            head,
            is_resumable: AtomicBool::new(false),
        }
    }

    /// Sets the system prompt and the run's part in memory. The next step stores both first.
    pub fn specify(&self, system: &str, memory: Option<Value>) {
        self.change(|state| {
            state.system = Some(system.to_owned());
            state.memory = memory.or(state.memory.take());
        });
    }

    /// Stores the request for a run that waits for a slot, so that another process can start it.
    /// Without a response the run waits in this process only.
    pub(crate) async fn wait_in_queue(&self, queued: Value) {
        // The other process shows the request too.
        self.keep_head();
        self.change(|state| state.queued = Some(queued));
        let stored = self.store_state().await;
        self.is_resumable
            .store(stored == Stepped::Stored, Ordering::Release);
    }

    /// Stores that the run starts. Repeated until the ledger answers.
    /// The request stays stored until the first step is: a process that reclaims the run before starts it again.
    pub(crate) async fn leave_queue(&self) -> Stepped {
        self.change(|state| state.attempts = Some(state.attempts.unwrap_or(Attempts::STARTED)));
        loop {
            let stored = self.store_state().await;
            if stored != Stepped::NotStored {
                self.is_resumable
                    .store(stored == Stepped::Stored, Ordering::Release);
                return stored;
            }
            tokio::time::sleep(LAST_WAIT).await;
        }
    }

    /// Removes a waiting run's request, once a step is stored.
    fn drop_request(&self) {
        if self.state().value.queued.is_some() {
            self.change(|state| state.queued = None);
        }
    }

    /// Continues from what another process stored: the turn count and size, and the state.
    pub async fn adopt(&self, turns: u64, size: usize, state: RunState) {
        *self.conversation.lock().await = Conversation::resumed(turns, size);
        self.adopt_state(state);
    }

    /// Continues waiting for a run without a stored step.
    pub(crate) fn adopt_state(&self, state: RunState) {
        let mut own = self.state();
        let view_token = state.view_token.clone().or(own.value.view_token.take());
        own.value = RunState {
            view_token,
            ..state
        };
        drop(own);
        self.is_resumable.store(true, Ordering::Release);
    }

    /// Returns whether the run may be handed off.
    /// A run without a stored step, or past a step that could not be stored, holds the shutdown instead.
    pub fn is_resumable(&self) -> bool {
        self.is_resumable.load(Ordering::Acquire)
    }

    /// Returns whether another generation owns the run.
    pub fn is_fenced(&self) -> bool {
        self.cursor.is_fenced()
    }

    /// Completes when another generation owns the run.
    pub(super) async fn fenced(&self) {
        self.cursor.fenced().await;
    }

    /// Stores a step. A required step is retried until it is stored or `give_up` fires.
    pub async fn step(
        &self,
        step: &Step<'_>,
        durability: StepDurability,
        give_up: &CancellationToken,
    ) -> Stepped {
        let at = step.agent_loop.position(step.now);
        let is_required = durability == StepDurability::Required;
        let mut waits = STEP_WAITS.into_iter().chain(std::iter::repeat(LAST_WAIT));
        loop {
            let tried = match self.try_step(step, &at).await {
                // A step that no attempt can store is recorded as missing, so that no process resumes without it.
                Err(error) if is_required && !is_transient(&error) => {
                    tracing::warn!(run = %self.cursor.run(), step = at.step, error = %error, "run not resumable");
                    self.is_resumable.store(false, Ordering::Release);
                    self.change(|state| state.unresumable = Some(at.step.into()));
                    self.try_state().await
                }
                tried => tried,
            };
            match self.judge(tried, "step not stored") {
                Stepped::NotStored if is_required => {}
                Stepped::Stored => {
                    // Permanent: later records do not contain the missing step either.
                    let is_resumable = self.state().value.unresumable.is_none();
                    self.is_resumable.store(is_resumable, Ordering::Release);
                    self.drop_request();
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

    /// Maps the answer to a write, and fences the run out where it says so.
    fn judge(&self, tried: Result<Owned, StoreError>, failure: &'static str) -> Stepped {
        match tried {
            Ok(Owned::Done(())) => Stepped::Stored,
            Ok(Owned::Fenced | Owned::UnknownRun) => {
                self.cursor.fence_out();
                Stepped::Fenced
            }
            Err(error) => {
                tracing::warn!(run = %self.cursor.run(), error = %error, "{failure}");
                Stepped::NotStored
            }
        }
    }

    async fn try_step(&self, step: &Step<'_>, at: &Position) -> Result<Owned, StoreError> {
        let mut conversation = self.conversation.lock().await;
        // A follow-up that the step marks as consumed is not fed again, so the event has to be in
        // the ledger first.
        if at.inbox_consumed_seq > conversation.inbox_consumed() {
            self.live.flush_run(&self.cursor).await?;
        }
        let owner = &self.cursor.owner;
        let unstored = step.agent_loop.turns_since(conversation.stored());
        if conversation.stored() + unstored.len() as u64 != at.turn_index {
            // Compaction replaced turns that an earlier, failed step left unstored, so the stored turns have a gap.
            let message = "turns of an earlier step were not stored and are not kept".to_owned();
            return Err(StoreError {
                kind: StoreErrorKind::Permanent,
                message,
            });
        }
        // The state precedes the step, because the step makes the run resumable.
        self.keep_head();
        if self.state().is_dirty
            && let refused @ (Owned::Fenced | Owned::UnknownRun) = self.try_state().await?
        {
            return Ok(refused);
        }
        let transcripts = self.live.transcripts();
        let written = conversation
            .append(transcripts, owner, unstored, at.inbox_consumed_seq)
            .await?;
        let Owned::Done(()) = written else {
            return Ok(written);
        };
        let calls = step.calls.iter().map(|call| Call {
            call_id: call.call_id.clone(),
            tool: call.name.clone(),
        });
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

    /// Removes the run from the flush.
    pub fn detach(&self) {
        self.live.forget(self.cursor.run());
    }

    /// Returns a part of the state, as this process knows it.
    pub(crate) fn known<T>(&self, read: impl FnOnce(&RunState) -> T) -> T {
        read(&self.state().value)
    }

    /// Changes the state. The row lacks the change until the state is stored.
    pub(crate) fn change(&self, change: impl FnOnce(&mut RunState)) {
        let mut state = self.state();
        change(&mut state.value);
        state.is_dirty = true;
    }

    fn state(&self) -> MutexGuard<'_, LocalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the run's state.
    pub async fn store_state(&self) -> Stepped {
        let tried = self.try_state().await;
        self.judge(tried, "run state not stored")
    }

    /// Puts the head events that the ledger lacks into the state. Flushing each new run at once
    /// would cost a request per run (docs/decisions/0007).
    fn keep_head(&self) {
        let unflushed = self
            .cursor
            .unflushed()
            .1
            .into_iter()
            .take_while(|event| event.seq <= self.head);
        let head: Vec<Value> = unflushed
            .filter_map(|event| serde_json::from_str(&event.json).ok())
            .collect();
        let mut state = self.state();
        if head.is_empty() {
            // The removal is stored with the next change.
            state.value.head = None;
        } else if state.value.head.is_none() {
            state.value.head = Some(head);
            state.is_dirty = true;
        }
    }

    pub(super) async fn try_state(&self) -> Result<Owned, StoreError> {
        let row = {
            let mut state = self.state();
            state.is_dirty = false;
            state.value.to_row()
        };
        let tried = self.live.ledger().state(&self.cursor.owner, &row).await;
        if tried.is_err() {
            self.state().is_dirty = true;
        }
        tried
    }
}

impl Drop for TrackedRun {
    fn drop(&mut self) {
        self.detach();
    }
}
