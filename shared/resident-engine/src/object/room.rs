//! Room on the disk for an attach: measurement, cold tree eviction, or a rejection.

use std::rc::Rc;

use ars_resident::daemon::StepInput;
use ars_resident::disk::{
    Arrival, Candidate, DiskDecision, Room, Sample, admit, disk_pressure, evictable,
};
use ars_resident::names::StrictThreadKey;
use ars_resident::plan::empty_trash;
use ars_resident::registry::Record;
use ars_resident::thread::TreeCheck;
use ars_sql::Sql;
use futures::FutureExt as _;

use super::engine::Engine;
use super::steps::Steps;
use crate::{Error, Fault, Host};

/// Delay before a measurement after an attach or detach: the response leaves first.
const MEASURE_DELAY_MS: i64 = 1_000;

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Admits a tree, evicts cold trees for it, or rejects the attach. Unknown space is no rejection.
    pub(super) async fn make_room(
        self: &Rc<Self>,
        thread: &StrictThreadKey,
        record: &Record,
        arrival: Arrival,
    ) -> Result<(), Error> {
        let Some(sample) = self.store.disk()? else {
            return Ok(());
        };
        if self.admit(thread, record, arrival, &sample).is_none() {
            return Ok(());
        }
        // A thread needs the spare tree's room more, and the stored sample may be old.
        self.drop_spare().await;
        let Some(sample) = self.measure_emptied().await? else {
            return Ok(());
        };
        let Some(mut missing) = self.admit(thread, record, arrival, &sample) else {
            return Ok(());
        };
        let candidates = self.candidates(record).await?;
        let (cold, kept) = evictable(&candidates, thread, self.host.now());
        for key in cold {
            if !self.evict_cold(key).await? {
                continue;
            }
            let Some(sample) = self.measure_emptied().await? else {
                return Ok(());
            };
            match self.admit(thread, record, arrival, &sample) {
                None => return Ok(()),
                Some(still) => missing = still,
            }
        }
        let refusal = disk_pressure(missing, &kept);
        Err(refusal.in_state(self.state()?).into())
    }

    /// Admits a tree and remembers the projection, or returns the missing space in KiB.
    fn admit(
        &self,
        thread: &StrictThreadKey,
        record: &Record,
        arrival: Arrival,
        sample: &Sample,
    ) -> Option<u64> {
        let mut live = self.live.borrow_mut();
        let admitted_kib = live
            .admitted
            .values()
            .fold(0, |sum: u64, part| sum.saturating_add(*part));
        let free_kib = Some(sample.free_kib);
        let room = Room {
            sample,
            free_kib,
            admitted_kib,
            budget_mb: record.disk_budget_mb,
        };
        match admit(&room, arrival) {
            DiskDecision::Admit { admitted_kib } => {
                live.admitted.insert(thread.clone(), admitted_kib);
                None
            }
            DiskDecision::Short { missing_kib } => Some(missing_kib),
        }
    }

    async fn candidates(self: &Rc<Self>, record: &Record) -> Result<Vec<Candidate>, Fault> {
        let mut candidates = Vec::new();
        for binding in self
            .store
            .bindings()?
            .into_iter()
            .filter(|binding| !binding.is_evicted())
        {
            let tree = self.check_tree(&binding).await.check();
            candidates.push(Candidate {
                last_attach_at: binding.last_attach_at,
                in_flight: self.in_flight_of(&binding.thread_key),
                is_clean: !tree.is_some_and(TreeCheck::has_unsaved),
                is_default_ref: binding.git_ref == record.default_ref,
                thread: binding.thread_key,
            });
        }
        Ok(candidates)
    }

    /// Evicts a tree that is still clean and unused. Returns whether it was removed.
    async fn evict_cold(self: &Rc<Self>, thread: &StrictThreadKey) -> Result<bool, Fault> {
        // Without a wait: an attach in progress on that thread keeps the tree.
        let Some(_turn) = self.lock_thread(thread).now_or_never() else {
            return Ok(false);
        };
        let Some(binding) = self.store.binding(thread)? else {
            return Ok(false);
        };
        let state = self.check_tree(&binding).await;
        let is_used = self.in_flight_of(thread) > 0 || binding.is_evicted();
        if is_used || state.check().is_some_and(TreeCheck::has_unsaved) {
            return Ok(false);
        }
        Ok(self.evict(&binding, state, "disk-pressure").await.is_ok())
    }

    /// Measures the disk after removed trees were deleted. A failed deletion leaves less room.
    async fn measure_emptied(self: &Rc<Self>) -> Result<Option<Sample>, Fault> {
        drop(Steps::new(self).run(empty_trash(), StepInput::None).await);
        self.measure().await
    }

    /// Measures the disk and stores the sample. `None` while no container runs or if it cannot be measured.
    pub(super) async fn measure(self: &Rc<Self>) -> Result<Option<Sample>, Fault> {
        if self.host.runtime().await.is_none() {
            return Ok(None);
        }
        let threads = self
            .store
            .bindings()?
            .into_iter()
            .filter(|binding| !binding.is_evicted());
        let Ok(sample) = self
            .host
            .measure(threads.map(|binding| binding.thread_key).collect())
            .await
        else {
            return Ok(None);
        };
        self.store.save_disk(&sample)?;
        Ok(Some(sample))
    }

    /// Measures the disk in the background.
    pub(super) fn measure_soon(self: &Rc<Self>) {
        if std::mem::replace(&mut self.live.borrow_mut().will_measure, true) {
            return;
        }
        let engine = Rc::clone(self);
        let task = async move {
            engine.host.sleep(MEASURE_DELAY_MS).await;
            engine.live.borrow_mut().will_measure = false;
            // A missing sample admits every attach, and the next cycle measures again.
            drop(engine.measure().await);
        };
        self.host.spawn(task.boxed_local());
    }
}
