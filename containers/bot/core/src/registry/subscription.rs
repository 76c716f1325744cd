//! A run's viewer.
//!
//! It keeps the last seq it received and reads the backlog from there, a bounded batch at a time.
//! It has no queue, so a slow viewer costs a single position.

use std::sync::Arc;

use ars_types::UnixMillis;
use tokio::sync::watch;

use super::run::Run;

/// Maximum frames returned at once.
const BATCH: usize = 256;

/// A frame in a viewer's stream (docs/reference/runs.md#event-stream).
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Marks events evicted from the backlog.
    Elided {
        /// Seq of the first evicted event.
        from_seq: u64,
        /// Seq of the last evicted event.
        to_seq: u64,
    },
    /// An event from the backlog.
    Event {
        /// Seq of the event.
        seq: u64,
        /// The event as JSON.
        json: Arc<str>,
    },
    /// The run finished. Span records may still follow.
    Finished {
        /// When the run finished.
        finished_at: UnixMillis,
    },
    /// Ends the viewer's stream.
    End {
        /// When the run was sealed.
        sealed_at: UnixMillis,
        /// Whether the reply was delivered, `None` without an attempt.
        reply_ok: Option<bool>,
    },
}

/// A subscription to a run's events.
pub struct Subscription {
    run: Arc<Run>,
    changes: watch::Receiver<u64>,
    after: u64,
    told_finished: bool,
    ended: bool,
}

impl Subscription {
    pub(super) fn new(run: Arc<Run>, after_seq: u64) -> Self {
        let changes = run.watch();
        let after = run.lock().position(after_seq);
        Self {
            run,
            changes,
            after,
            told_finished: false,
            ended: false,
        }
    }

    /// Waits for the next frames. Returns `None` after the end, and when the run left this process.
    pub async fn next(&mut self) -> Option<Vec<Frame>> {
        while !self.ended {
            self.changes.borrow_and_update();
            let frames = self.ready();
            if !frames.is_empty() {
                return Some(frames);
            }
            if self.run.lock().is_gone || self.changes.changed().await.is_err() {
                return None;
            }
        }
        None
    }

    fn ready(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        let state = self.run.lock();
        for kept in state.backlog.after(self.after).take(BATCH) {
            if kept.seq > self.after + 1 {
                frames.push(Frame::Elided {
                    from_seq: self.after + 1,
                    to_seq: kept.seq - 1,
                });
            }
            self.after = kept.seq;
            frames.push(Frame::Event {
                seq: kept.seq,
                json: Arc::clone(&kept.json),
            });
        }
        if self.after < state.last_seq {
            return frames;
        }
        if let (false, Some((finished_at, _))) = (self.told_finished, state.finished) {
            self.told_finished = true;
            frames.push(Frame::Finished { finished_at });
        }
        if let Some((sealed_at, reply_ok)) = state.sealed {
            self.ended = true;
            frames.push(Frame::End {
                sealed_at,
                reply_ok,
            });
        }
        frames
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.run.lock().leave(self.after);
    }
}
