//! The server and the two Workers before it, taking turns.

use std::time::Duration;

use anyhow::Result;

use super::rows::Row;
use super::side::Side;
use crate::bench::load::{Slice, Source, Until, slice};

/// How long is measured.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Slices of each side in a row.
    pub rounds: usize,
    /// One of them.
    pub slice: Duration,
}

/// What is compared, and how the comparison went.
pub struct Contest {
    sides: [Side; 3],
    plan: Plan,
    /// The share of the time that the Workers' threads waited for their core, slice by slice.
    delayed: Vec<f64>,
}

/// A row as it was measured: directly, through ours, through the twin.
pub type Measurement = [Slice; 3];

impl Contest {
    /// Nothing is measured yet.
    pub fn new(sides: [Side; 3], plan: Plan) -> Self {
        Self { sides, plan, delayed: Vec::new() }
    }

    /// Measures one row.
    pub fn measure(&mut self, row: &Row) -> Result<Measurement> {
        let mut clients = [row.sources(), row.sources(), row.sources()];
        // One slice of each that does not count: what is compiled as it runs is compiled then.
        for (side, clients) in clients.iter_mut().enumerate() {
            self.slice(side, clients)?;
        }
        let mut sums = Measurement::default();
        for round in 0..self.plan.rounds {
            // Each side is first, second and last equally often.
            for turn in 0..sums.len() {
                let side = (round + turn) % sums.len();
                sums[side].add(self.slice(side, &mut clients[side])?);
            }
        }
        let workers = &sums[1..];
        self.delayed.extend(workers.iter().map(|sum| sum.delayed.as_secs_f64() / sum.wall.as_secs_f64()));
        Ok(sums)
    }

    /// How it was measured, and how far it can be trusted.
    pub fn note(&self) -> String {
        let worst = self.delayed.iter().copied().fold(0.0, f64::max);
        format!(
            "Bare workerd for both, on one core; the load and the server behind on another. {} slices of {} ms a row \
             and side, in rotating order.\nLatency over HTTP/1.1, kept alive, to the last byte of the answer; \"adds\" \
             is the median's distance to that of asking directly. CPU is that of all the runtime's threads, for each \
             request.\nThe Workers' threads waited for their core at most {:.0} % of a row's time: for each other, and \
             for whatever else ran.",
            self.plan.rounds,
            self.plan.slice.as_millis(),
            worst * 100.0,
        )
    }

    fn slice(&self, side: usize, clients: &mut [Source]) -> Result<Slice> {
        slice(self.sides[side].measured(), clients, Until::Time(self.plan.slice))
    }
}
