//! A run's wait for a slot (docs/reference/ingress.md#queue).
//!
//! The run exists, so its page, its stream and its stop work, and follow-ups reach its mailbox. Not here: who is next
//! (`slots`).

use std::time::Duration;

use ars_bot_ports::{metrics, texts};
use ars_events::{EventBody, NoteKind};
use ars_types::{RunStatus, UnixMillis};

use super::active::ActiveRun;
use crate::{
    context::RunContext,
    live::{Stepped, TrackedRun},
    run::{self, DriverExit, DriverReport},
    slots::{Place, Progress, RunSlot, Slot},
};

/// The result of the wait.
pub(super) enum Waited {
    /// The run has a slot.
    Slot(Slot),
    /// The run ends or is handed off without one.
    Over(DriverReport),
}

impl Waited {
    fn over(exit: DriverExit) -> Self {
        Self::Over(DriverReport { exit, ..run::not_begun(String::new()) })
    }
}

impl ActiveRun {
    /// Waits for the run's slot, if it has none.
    pub(super) async fn slot(&self, context: &RunContext, slot: RunSlot) -> Waited {
        let mut place = match slot {
            RunSlot::Free(slot) => return Waited::Slot(slot),
            RunSlot::Awaited(place) => place,
        };
        let since = context.clock().now();
        let span = self.stage(context, "dispatch.queue");
        let waited = self.wait(context, &mut place).await;
        span.end();
        self.run.set_queue_position(None);
        match waited {
            Ok(slot) => match self.leave_queue(context, since).await {
                Some(exit) => Waited::over(exit),
                None => Waited::Slot(slot),
            },
            Err(exit) => Waited::over(exit),
        }
    }

    async fn wait(&self, context: &RunContext, place: &mut Place) -> Result<Slot, DriverExit> {
        let stops = self.run.stops();
        let is_stored = self.claim.tracked().is_some_and(TrackedRun::is_resumable);
        let mut shown = None;
        loop {
            if let Some(slot) = place.slot() {
                return Ok(slot);
            }
            if let Progress::Waits(position) = place.progress() {
                self.show(position, &mut shown);
            }
            tokio::select! {
                biased;
                () = self.claim.fenced() => return Err(DriverExit::Fenced),
                () = stops.hard.cancelled() => return Err(stopped(RunStatus::StoppedHard)),
                () = stops.soft.cancelled() => return Err(stopped(RunStatus::StoppedSoft)),
                () = context.hand_off().cancelled(), if is_stored => return Err(DriverExit::HandedOff),
                () = place.changed() => {}
            }
        }
    }

    /// Shows the position. Its note is repeated when it has halved, so that a long queue adds few events.
    fn show(&self, position: u32, shown: &mut Option<u32>) {
        self.run.set_queue_position(Some(position));
        if shown.is_none_or(|shown| position <= shown / 2) {
            *shown = Some(position);
            let text = texts::queued(position);
            self.run.publish(EventBody::note(NoteKind::Queued, text.clone()));
            self.io.status(&text);
        }
    }

    /// Returns the exit of a run that does not start.
    async fn leave_queue(&self, context: &RunContext, since: UnixMillis) -> Option<DriverExit> {
        let waited = context.clock().now().saturating_sub(since).max(0);
        metrics::run_left_queue(Duration::from_millis(u64::try_from(waited).unwrap_or(0)));
        self.run.publish(EventBody::note(NoteKind::Queued, texts::left_queue(waited / 1000)));
        let tracked = self.claim.tracked()?;
        match tracked.leave_queue(&self.run.stops().hard).await {
            Stepped::Stored => None,
            Stepped::NotStored => Some(stopped(RunStatus::StoppedHard)),
            Stepped::Fenced => Some(DriverExit::Fenced),
        }
    }
}

fn stopped(status: RunStatus) -> DriverExit {
    run::ended(status, texts::STOPPED_IN_QUEUE.to_owned())
}
