//! A bounded backlog with a run's newest events and protected head (docs/reference/limits.md#runs).
//!
//! Memory does not grow with the run's length.

use std::{collections::VecDeque, sync::Arc};

/// Maximum number of kept events.
const MAX_EVENTS: usize = 5000;
/// Maximum size of kept event JSON in bytes.
const MAX_BYTES: usize = 4 << 20;
/// Maximum head size in bytes: the first input, context and `run_meta` events, which are never
/// evicted.
const MAX_HEAD_BYTES: usize = 512 << 10;

/// A kept event.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Seq of the event.
    pub seq: u64,
    /// The event as JSON.
    pub json: Arc<str>,
}

/// A run's kept events.
#[derive(Debug, Default)]
pub struct Backlog {
    head: Vec<Kept>,
    head_bytes: usize,
    head_closed: bool,
    tail: VecDeque<Kept>,
    tail_bytes: usize,
}

impl Backlog {
    /// Adds the next event. If it `belongs_to_head`, it is protected from eviction if all events
    /// before it are, too.
    pub fn push(&mut self, event: Kept, belongs_to_head: bool) {
        let size = event.json.len();
        self.head_closed |= !belongs_to_head || self.head_bytes + size > MAX_HEAD_BYTES;
        if !self.head_closed {
            self.head_bytes += size;
            self.head.push(event);
            return;
        }
        self.tail_bytes += size;
        self.tail.push_back(event);
        // The newest event is kept at any size.
        while self.tail.len() > 1
            && (self.len() > MAX_EVENTS || self.head_bytes + self.tail_bytes > MAX_BYTES)
        {
            if let Some(dropped) = self.tail.pop_front() {
                self.tail_bytes -= dropped.json.len();
            }
        }
    }

    /// Returns the kept events after `seq`, in order.
    pub fn after(&self, seq: u64) -> impl Iterator<Item = &Kept> {
        let head_from = self.head.partition_point(|event| event.seq <= seq);
        let tail_from = self.tail.partition_point(|event| event.seq <= seq);
        self.head[head_from..]
            .iter()
            .chain(self.tail.range(tail_from..))
    }

    /// Returns the number of kept events.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64, size: usize) -> Kept {
        Kept {
            seq,
            json: "x".repeat(size).into(),
        }
    }

    fn seqs(backlog: &Backlog, after: u64) -> Vec<u64> {
        backlog.after(after).map(|kept| kept.seq).collect()
    }

    #[test]
    fn oldest_events_are_evicted_except_the_head() {
        let mut backlog = Backlog::default();
        backlog.push(event(1, 10), true);
        for seq in 2..=MAX_EVENTS as u64 + 5 {
            backlog.push(event(seq, 10), false);
        }
        let kept = seqs(&backlog, 0);
        assert_eq!(kept.len(), MAX_EVENTS);
        assert_eq!((kept[0], kept[1]), (1, 7));
    }

    #[test]
    fn newest_event_is_kept_at_any_size() {
        let mut backlog = Backlog::default();
        backlog.push(event(1, 100), false);
        backlog.push(event(2, MAX_BYTES * 2), false);
        assert_eq!(seqs(&backlog, 0), [2]);
    }

    #[test]
    fn reader_continues_after_its_seq() {
        let mut backlog = Backlog::default();
        backlog.push(event(1, 1), true);
        backlog.push(event(2, 1), true);
        backlog.push(event(3, 1), false);
        assert_eq!(seqs(&backlog, 0), [1, 2, 3]);
        assert_eq!(seqs(&backlog, 1), [2, 3]);
        assert!(seqs(&backlog, 3).is_empty());
    }

    #[test]
    fn oversized_head_is_not_protected() {
        let mut backlog = Backlog::default();
        backlog.push(event(1, MAX_HEAD_BYTES + 1), true);
        backlog.push(event(2, MAX_BYTES), true);
        assert_eq!(seqs(&backlog, 0), [2]);
    }
}
