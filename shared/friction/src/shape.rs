//! Breaks down an ended run's window (docs/reference/friction.md#shape).
//!
//! Makes a single sweep over the elementary intervals, which start and end where a claim or a loss
//! does. Each counts in exactly one term, so the terms sum to the window for any claims.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    claims::{Bucket, Claim},
    diagnosis::Shape,
    intervals::Interval,
    losses::Losses,
    work,
};

/// Computes the breakdown from claims ordered by start, which also breaks ties.
pub(crate) fn shape(window: Interval, mut claims: Vec<Claim>, losses: &Losses) -> Shape {
    for claim in &mut claims {
        claim.interval = claim.interval.within(window);
    }
    let mut active = Active::new(&claims);
    let mut lost = Cover::new(&losses.lost);
    let mut elided = Cover::new(&losses.elided);
    let mut shape = Shape {
        window_ms: window.ms(),
        ..Shape::default()
    };
    for elementary in elementary_intervals(window, &claims, losses) {
        work::step();
        let term = match active.at(elementary.start) {
            Some(Bucket::GettingReady) => &mut shape.getting_ready_ms,
            Some(Bucket::Thinking) => &mut shape.thinking_ms,
            Some(Bucket::Tools) => &mut shape.tools_ms,
            Some(Bucket::FinishingUp) => &mut shape.finishing_up_ms,
            None if lost.covers(elementary.start) => &mut shape.not_recorded_ms,
            None if elided.covers(elementary.start) => &mut shape.not_loaded_ms,
            None => &mut shape.overhead_ms,
        };
        *term += elementary.ms();
    }
    shape
}

/// Cuts the window at every start and end.
fn elementary_intervals(
    window: Interval,
    claims: &[Claim],
    losses: &Losses,
) -> impl Iterator<Item = Interval> {
    let claimed = claims.iter().map(|claim| claim.interval);
    let missing = losses
        .lost
        .iter()
        .chain(&losses.elided)
        .map(|interval| interval.within(window));
    let mut cuts: Vec<_> = claimed
        .chain(missing)
        .chain([window])
        .flat_map(|interval| [interval.start, interval.end])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let ends: Vec<_> = cuts.iter().skip(1).copied().collect();
    cuts.into_iter()
        .zip(ends)
        .map(|(start, end)| Interval { start, end })
}

/// Claims under the sweep, the winner on top. Each is pushed and popped once.
struct Active<'a> {
    claims: &'a [Claim],
    next: usize,
    heap: BinaryHeap<(u32, Reverse<usize>)>,
}

impl<'a> Active<'a> {
    const fn new(claims: &'a [Claim]) -> Self {
        Self {
            claims,
            next: 0,
            heap: BinaryHeap::new(),
        }
    }

    /// Returns the bucket for the elementary interval that starts here.
    fn at(&mut self, time: i64) -> Option<Bucket> {
        while let Some(claim) = self
            .claims
            .get(self.next)
            .filter(|claim| claim.interval.start <= time)
        {
            work::step();
            self.heap.push((claim.depth, Reverse(self.next)));
            self.next += 1;
        }
        while let Some((_, Reverse(position))) = self.heap.peek() {
            work::step();
            let claim = &self.claims[*position];
            if claim.interval.end > time {
                return Some(claim.bucket);
            }
            self.heap.pop();
        }
        None
    }
}

/// Disjoint intervals under the sweep.
struct Cover<'a> {
    left: &'a [Interval],
}

impl<'a> Cover<'a> {
    const fn new(intervals: &'a [Interval]) -> Self {
        Self { left: intervals }
    }

    fn covers(&mut self, time: i64) -> bool {
        while let [first, rest @ ..] = self.left {
            work::step();
            if first.end > time {
                return first.start <= time;
            }
            self.left = rest;
        }
        false
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
