//! When events are missing: seq gaps, `spans_dropped` notes, a trimmed head, elided events.

use crate::{
    intervals::{Interval, merge},
    options::{AnalysisOptions, SeqRange},
    reading::{Event, EventKind},
};

/// Note that reports dropped span records.
const SPANS_DROPPED: &str = "spans_dropped";
/// A run's first seq.
const FIRST_SEQ: u64 = 1;

/// Missing events as intervals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Lost events; disjoint and in order.
    pub(crate) lost: Vec<Interval>,
    /// Events that exist but are not in this replay; disjoint and in order.
    pub(crate) elided: Vec<Interval>,
    /// Any event is missing, timed or not.
    pub(crate) any: bool,
    /// Where all losses start, in order: an open span ends at the next.
    starts: Vec<i64>,
}

impl Losses {
    /// Returns where the first loss at or after a time starts.
    pub(crate) fn next_after(&self, time: i64) -> Option<i64> {
        self.starts
            .get(self.starts.partition_point(|start| *start < time))
            .copied()
    }
}

/// Finds a stream's losses.
pub(crate) fn read(events: &[Event<'_>], options: &AnalysisOptions) -> Losses {
    let mut reading = Reading::new(options);
    for event in events {
        reading.see(event);
    }
    if let Some(gap) = reading.gap.take() {
        reading.close(gap, options.window.map(|window| window.end));
    }
    let Reading {
        lost, elided, any, ..
    } = reading;
    let mut starts: Vec<_> = lost
        .iter()
        .chain(&elided)
        .map(|interval| interval.start)
        .collect();
    starts.sort_unstable();
    Losses {
        lost: merge(lost),
        elided: merge(elided),
        any,
        starts,
    }
}

/// A gap without a known end time.
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
    fn new(options: &AnalysisOptions) -> Self {
        let start = options.window.map(|window| window.start);
        Self {
            replayed_without: options.elided,
            lost: Vec::new(),
            elided: Vec::new(),
            any: options.elided.is_some() || options.head_trimmed,
            gap: options.head_trimmed.then_some(Gap {
                elided: false,
                since: start,
            }),
            last_at: start,
            next_seq: FIRST_SEQ,
        }
    }

    /// An unknown kind's seq proves presence; the stamp is not used.
    fn see(&mut self, event: &Event<'_>) {
        if let Some(seq) = event.seq.filter(|seq| *seq >= self.next_seq) {
            self.reach(seq);
        }
        if let EventKind::Note {
            kind: SPANS_DROPPED,
            range,
        } = event.kind
        {
            self.any = true;
            // Without a range, the loss is somewhere since the last event.
            let since = range.map_or(self.last_at, |range| Some(range.start));
            self.close(
                Gap {
                    elided: false,
                    since,
                },
                range.map_or(event.at, |range| Some(range.end)),
            );
        }
        if event.at.is_some() && event.kind != EventKind::Unknown {
            if let Some(gap) = self.gap.take() {
                self.close(gap, event.at);
            }
            self.last_at = event.at;
        }
    }

    fn reach(&mut self, seq: u64) {
        if seq > self.next_seq {
            self.any = true;
            let elided = self
                .replayed_without
                .is_some_and(|range| range.from <= self.next_seq && seq - 1 <= range.to);
            // For the head, seqs take precedence over the caller's option. Elsewhere two gaps without a stamp between
            // them merge, and the result is lost if either is.
            let open = self.gap.filter(|_| self.next_seq > FIRST_SEQ);
            self.gap = Some(Gap {
                elided: elided && open.is_none_or(|gap| gap.elided),
                since: open.map_or(self.last_at, |gap| gap.since),
            });
        }
        self.next_seq = seq.saturating_add(1);
    }

    fn close(&mut self, gap: Gap, until: Option<i64>) {
        let Some((start, until)) = gap.since.zip(until) else {
            return;
        };
        let interval = Interval {
            start,
            end: until.max(start),
        };
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
