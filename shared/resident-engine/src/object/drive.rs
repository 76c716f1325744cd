//! The lifecycle driver: applies an input, stores the state, then performs the actions in order.

use std::collections::VecDeque;
use std::rc::Rc;

use ars_resident::daemon::Job;
use ars_resident::lifecycle::{Action, Input, Step, TeardownPart};
use ars_resident::names::BackupId;
use ars_sql::Sql;
use ars_types::UnixMillis;
use futures::FutureExt as _;

use super::engine::Engine;
use crate::{Fault, Host, HostError, ObjectCounts};

/// Interval between alarms while a step or an operation runs, which keep the object and container.
const KEEP_ALIVE_INTERVAL_MS: i64 = 30_000;

/// The effects of an input's actions, and of the inputs that they caused.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub container_stopped: bool,
    pub storage_cleared: bool,
    pub backups_deleted: u32,
    pub objects: ObjectCounts,
    /// Parts that failed. They are repeated.
    pub errors: Vec<String>,
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Applies an input and performs the actions. The state machine repeats actions that fail.
    pub(super) async fn feed(self: &Rc<Self>, input: Input) -> Result<Effects, Fault> {
        let mut effects = Effects::default();
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for action in self.apply(input)? {
                inputs.extend(self.perform(action, &mut effects).await);
            }
        }
        self.arm().await;
        Ok(effects)
    }

    /// Reads, changes and writes the state without an `await`.
    fn apply(&self, input: Input) -> Result<Vec<Action>, Fault> {
        let mut lifecycle = self.store.lifecycle()?;
        let before = lifecycle.clone();
        let actions = lifecycle.step(input, self.host.now());
        if lifecycle != before {
            self.store.save_lifecycle(&lifecycle)?;
            self.changed.notify();
        }
        Ok(actions)
    }

    /// Performs an action and returns the input that reports the end.
    async fn perform(self: &Rc<Self>, action: Action, effects: &mut Effects) -> Option<Input> {
        match action {
            Action::RunStep {
                attempt,
                step,
                budget_ms,
            } => self.start_step(attempt, step, budget_ms),
            Action::CancelSteps { attempt } => {
                {
                    let mut live = self.live.borrow_mut();
                    live.running = live.running.filter(|running| *running > attempt);
                }
                // A late answer is fenced by the attempt, also if the cancellation is lost.
                let _ = self.host.cancel(Job::Cycle { attempt }).await;
            }
            Action::StopContainer => drop(self.stop_container(effects).await),
            Action::DeleteObjects(ids) => return self.delete_backups(ids, effects).await,
            Action::ReleaseSlot => return self.release_slot(effects).await,
            Action::TearDown(part) => {
                let ok = self.tear_down(part, effects).await;
                return Some(Input::TornDown { part, ok });
            }
            Action::Housekeep => {
                let engine = Rc::clone(self);
                self.host
                    .spawn(async move { engine.housekeep().await }.boxed_local());
            }
            // The alarm is set once for all inputs.
            Action::SetAlarm { .. } => {}
        }
        None
    }

    fn start_step(self: &Rc<Self>, attempt: u64, step: Step, budget_ms: i64) {
        {
            let mut live = self.live.borrow_mut();
            live.running = Some(attempt);
            live.bytes = 0;
            if step == Step::AwaitRestores {
                // The cycle begins with a new workspace.
                live.spare = None;
                live.workspaces += 1;
            }
        }
        let engine = Rc::clone(self);
        self.host.spawn(
            async move { engine.run_cycle_step(attempt, step, budget_ms).await }.boxed_local(),
        );
    }

    async fn stop_container(&self, effects: &mut Effects) -> Result<(), HostError> {
        let result = self.host.stop().await;
        match &result {
            Ok(()) => effects.container_stopped = true,
            Err(error) => effects.errors.push(format!("container: {error}")),
        }
        result
    }

    async fn delete_backups(&self, ids: Vec<BackupId>, effects: &mut Effects) -> Option<Input> {
        if let Err(error) = self.host.delete_backups(&ids).await {
            effects.errors.push(format!("backups: {error}"));
            return None;
        }
        effects.backups_deleted += u32::try_from(ids.len()).unwrap_or(u32::MAX);
        if let Err(fault) = self.store.forget_backups(&ids) {
            effects.errors.push(fault.to_string());
        }
        Some(Input::ObjectsDeleted(ids))
    }

    async fn release_slot(&self, effects: &mut Effects) -> Option<Input> {
        let record = self.store.record().ok().flatten()?;
        match self
            .host
            .release_slot(&record.resource, record.onboarded_at)
            .await
        {
            Ok(()) => Some(Input::SlotReleased),
            Err(error) => {
                effects.errors.push(format!("registry: {error}"));
                None
            }
        }
    }

    async fn tear_down(&self, part: TeardownPart, effects: &mut Effects) -> bool {
        match part {
            TeardownPart::Container => self.stop_container(effects).await.is_ok(),
            TeardownPart::Objects => {
                let Ok(Some(record)) = self.store.record() else {
                    return false;
                };
                match self.host.delete_objects(&record.resource).await {
                    Ok(deleted) => effects.objects = deleted,
                    Err(error) => {
                        effects.errors.push(format!("objects: {error}"));
                        return false;
                    }
                }
                true
            }
            TeardownPart::Storage => match self.store.clear() {
                Ok(()) => {
                    effects.storage_cleared = true;
                    true
                }
                Err(fault) => {
                    effects.errors.push(format!("storage: {fault}"));
                    false
                }
            },
        }
    }

    /// Sets the alarm to the next time at which something is due.
    pub(super) async fn arm(&self) {
        let Ok(at) = self.next_alarm() else { return };
        if let Some(at) = at {
            // The platform repeats an alarm that failed, and the watchdog mends a missing alarm.
            let is_set = self.host.set_alarm(at).await.is_ok();
            self.live.borrow_mut().alarm_at = is_set.then_some(at);
        }
    }

    /// Makes the alarm fire while an operation is in flight. An alarm that is near enough stays,
    /// which saves a write.
    pub(super) async fn keep_alive(&self) {
        let now = self.host.now();
        let near = now..=now + KEEP_ALIVE_INTERVAL_MS;
        let is_armed = self
            .live
            .borrow()
            .alarm_at
            .is_some_and(|at| near.contains(&at));
        if !is_armed {
            self.arm().await;
        }
    }

    fn next_alarm(&self) -> Result<Option<UnixMillis>, Fault> {
        let now = self.host.now();
        let lifecycle = self.store.lifecycle()?;
        let is_busy = self.live.borrow().running.is_some() || self.in_flight() > 0;
        let keep_alive = is_busy.then_some(now + KEEP_ALIVE_INTERVAL_MS);
        let due = [lifecycle.alarm(), self.store.sweep_at()?, keep_alive];
        Ok(due.into_iter().flatten().min().map(|at| at.max(now)))
    }
}
