//! When the stream is known to miss events (state-worker supplement section 8.3): gaps in the seqs, `spans_dropped`
//! notes, a trimmed head, and what a live replay left out.

use crate::{
    intervals::{Interval, merge},
    options::{Options, SeqRange},
    reading::{Event, Seen},
};

/// The note of a bound that cost spans.
const SPANS_DROPPED: &str = "spans_dropped";
/// Seqs begin here (bot supplement section 9).
const FIRST_SEQ: u64 = 1;

/// What is missing, as time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Nobody has these events any more; disjoint and in order.
    pub(crate) lost: Vec<Interval>,
    /// These exist, but not in this replay; disjoint and in order.
    pub(crate) elided: Vec<Interval>,
    /// Whether anything is missing at all, timed or not.
    pub(crate) any: bool,
    /// Where each begins, in order: an open span ends at the next.
    starts: Vec<i64>,
}

impl Losses {
    /// Where the next loss at or after a time begins.
    pub(crate) fn next_after(&self, time: i64) -> Option<i64> {
        self.starts.get(self.starts.partition_point(|start| *start < time)).copied()
    }
}

/// Reads the losses off the stream.
pub(crate) fn read(events: &[Event<'_>], options: &Options) -> Losses {
    let mut reading = Reading::new(options);
    for event in events {
        reading.see(event);
    }
    if let Some(gap) = reading.gap.take() {
        reading.close(gap, options.window.map(|window| window.end));
    }
    let Reading { lost, elided, any, .. } = reading;
    let mut starts: Vec<_> = lost.iter().chain(&elided).map(|interval| interval.start).collect();
    starts.sort_unstable();
    Losses { lost: merge(lost), elided: merge(elided), any, starts }
}

/// Missing events whose far end in time is not known yet.
#[derive(Clone, Copy)]
struct Gap {
    elided: bool,
    since: Option<i64>,
}

struct Reading {
    replayed_without: Option<SeqRange>,
    lost: Vec<Interval>,
    elided: Vec<Interval>,
    any: bool,
    gap: Option<Gap>,
    last_at: Option<i64>,
    next_seq: u64,
}

impl Reading {
    fn new(options: &Options) -> Self {
        let start = options.window.map(|window| window.start);
        Self {
            replayed_without: options.elided,
            lost: Vec::new(),
            elided: Vec::new(),
            any: options.elided.is_some() || options.head_trimmed,
            gap: options.head_trimmed.then_some(Gap { elided: false, since: start }),
            last_at: start,
            next_seq: FIRST_SEQ,
        }
    }

    /// Kinds of another version prove by their seq that they are there; their stamps say nothing.
    fn see(&mut self, event: &Event<'_>) {
        if let Some(seq) = event.seq.filter(|seq| *seq >= self.next_seq) {
            self.reach(seq);
        }
        if let Seen::Note { kind: SPANS_DROPPED, range } = event.seen {
            self.any = true;
            // Without a range: somewhere since the last event that was seen.
            let since = range.map_or(self.last_at, |range| Some(range.start));
            self.close(Gap { elided: false, since }, range.map_or(event.at, |range| Some(range.end)));
        }
        if event.at.is_some() && event.seen != Seen::Unknown {
            if let Some(gap) = self.gap.take() {
                self.close(gap, event.at);
            }
            self.last_at = event.at;
        }
    }

    fn reach(&mut self, seq: u64) {
        if seq > self.next_seq {
            self.any = true;
            let elided =
                self.replayed_without.is_some_and(|range| range.from <= self.next_seq && seq - 1 <= range.to);
            // The head's own seqs know better than the caller what became of it. Elsewhere two gaps without a stamp
            // between them are one, and lost when either is.
            let open = self.gap.filter(|_| self.next_seq > FIRST_SEQ);
            self.gap = Some(Gap {
                elided: elided && open.is_none_or(|gap| gap.elided),
                since: open.map_or(self.last_at, |gap| gap.since),
            });
        }
        self.next_seq = seq.saturating_add(1);
    }

    fn close(&mut self, gap: Gap, until: Option<i64>) {
        let Some((start, until)) = gap.since.zip(until) else { return };
        let interval = Interval { start, end: until.max(start) };
        if gap.elided {
            self.elided.push(interval);
        } else {
            self.lost.push(interval);
        }
    }
}

#[cfg(test)]
#[path = "losses_tests.rs"]
mod tests;
