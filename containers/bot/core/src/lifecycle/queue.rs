//! A run's wait for a slot (docs/reference/ingress.md#queue).
//!
//! The run exists, so its page, stream and stop work, and follow-ups reach the mailbox. Not here:
//! who is next (`slots`).

use std::time::Duration;

use ars_bot_ports::{metrics, texts};
use ars_events::{EventBody, NoteKind};
use ars_types::{RunStatus, UnixMillis};

use super::active::ActiveRun;
use crate::{
    context::RunContext,
    limits::{Place, Progress, RunSlot, Slot},
    live::{Stepped, TrackedRun},
    registry::QueuePlace,
    run::{self, DriverExit, DriverReport},
};

/// Positions up to which every change is shown.
const NEAR: u32 = 8;

/// How the wait ended.
pub(super) enum Waited {
    /// The run has a slot.
    Slot(Slot),
    /// The run ends or is handed off without a slot.
    Over(DriverReport),
}

impl Waited {
    fn over(exit: DriverExit) -> Self {
        Self::Over(DriverReport {
            exit,
            ..run::not_begun(String::new())
        })
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
        self.run.set_queue_place(None);
        match waited {
            Ok(slot) => match self.leave_queue(context, since).await {
                Ok(()) => Waited::Slot(slot),
                Err(exit) => Waited::over(exit),
            },
            Err(exit) => Waited::over(exit),
        }
    }

    async fn wait(&self, context: &RunContext, place: &mut Place) -> Result<Slot, DriverExit> {
        let mut shown = None;
        loop {
            if let Progress::Waits(place) = place.progress() {
                self.show(place, &mut shown);
            }
            tokio::select! {
                biased;
                // First: a stop or a shutdown also ends a run with a granted slot.
                exit = self.ends_in_queue(context) => return Err(exit),
                slot = place.next() => if let Some(slot) = slot { return Ok(slot) },
            }
        }
    }

    /// Completes when the run ends or is handed off before it starts.
    async fn ends_in_queue(&self, context: &RunContext) -> DriverExit {
        let stops = self.run.stops();
        let is_stored = self.claim.tracked().is_some_and(TrackedRun::is_resumable);
        tokio::select! {
            biased;
            () = self.claim.fenced() => DriverExit::Fenced,
            () = stops.hard.cancelled() => stopped(RunStatus::StoppedHard),
            () = stops.soft.cancelled() => stopped(RunStatus::StoppedSoft),
            () = context.hand_off().cancelled(), if is_stored => DriverExit::HandedOff,
        }
    }

    /// Shows the place.
    /// Far behind, the note is repeated when the position has halved, so that a long queue adds few events.
    fn show(&self, place: QueuePlace, shown: &mut Option<u32>) {
        let QueuePlace { position, limit } = place;
        self.run.set_queue_place(Some(place));
        let is_new = |shown| position <= shown / 2 || (position <= NEAR && position != shown);
        if shown.is_none_or(is_new) {
            *shown = Some(position);
            let text = texts::queued(position, limit);
            self.run
                .publish(EventBody::note(NoteKind::Queued, text.clone()));
            self.io.show_status(text);
        }
    }

    /// Stores that the run starts. The error is the exit for a run that does not.
    async fn leave_queue(&self, context: &RunContext, since: UnixMillis) -> Result<(), DriverExit> {
        let waited = context.clock().now().saturating_sub(since).max(0);
        metrics::run_left_queue(Duration::from_millis(u64::try_from(waited).unwrap_or(0)));
        self.run.publish(EventBody::note(
            NoteKind::Queued,
            texts::left_queue(waited / 1000),
        ));
        let Some(tracked) = self.claim.tracked() else {
            return Ok(());
        };
        let left = tokio::select! {
            biased;
            left = tracked.leave_queue() => left,
            exit = self.ends_in_queue(context) => return Err(exit),
        };
        let stops = self.run.stops();
        match left {
            Stepped::Fenced => Err(DriverExit::Fenced),
            _ if stops.hard.is_cancelled() => Err(stopped(RunStatus::StoppedHard)),
            _ if stops.soft.is_cancelled() => Err(stopped(RunStatus::StoppedSoft)),
            Stepped::Stored | Stepped::NotStored => Ok(()),
        }
    }
}

fn stopped(status: RunStatus) -> DriverExit {
    run::ended(status, texts::STOPPED_IN_QUEUE.to_owned())
}
