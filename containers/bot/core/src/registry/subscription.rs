//! A viewer of one run.
//!
//! It remembers the last seq it was shown and reads the backlog from there, a bounded batch at a time, so it
//! holds no queue: however slow, it costs one position.

use std::sync::Arc;

use ars_types::UnixMillis;
use tokio::sync::watch;

use super::run::Run;

/// Frames handed out at once.
const BATCH: usize = 256;

/// What a viewer is shown, in the order of bot supplement section 11.3.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Events that are no longer kept.
    Elided {
        /// First seq left out.
        from_seq: u64,
        /// Last seq left out.
        to_seq: u64,
    },
    /// One event.
    Event {
        /// Its seq.
        seq: u64,
        /// Its JSON.
        json: Arc<str>,
    },
    /// The agent stopped; span records may still follow.
    Finished {
        /// When.
        finished_at: UnixMillis,
    },
    /// Nothing follows.
    End {
        /// When the run was sealed.
        sealed_at: UnixMillis,
        /// Whether its reply was delivered; absent when none was attempted.
        reply_ok: Option<bool>,
    },
}

/// Follows one run.
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
        Self { run, changes, after, told_finished: false, ended: false }
    }

    /// The next frames; waits until there are some. `None` after the end, and when the run has left this process.
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
                frames.push(Frame::Elided { from_seq: self.after + 1, to_seq: kept.seq - 1 });
            }
            self.after = kept.seq;
            frames.push(Frame::Event { seq: kept.seq, json: Arc::clone(&kept.json) });
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
            frames.push(Frame::End { sealed_at, reply_ok });
        }
        frames
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.run.lock().leave(self.after);
    }
}
