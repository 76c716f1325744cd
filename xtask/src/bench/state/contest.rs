//! The two Workers and the floor, taking turns.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;

use super::data::History;
use super::floor::Floor;
use super::report::Measurement;
use super::rows::{self, Needs, Row, Weight};
use super::side::Side;
use super::{fill, flush};
use crate::bench::load::{Ask, Slice, Source, Until, slice};
use crate::terminal::Step;

/// How much is measured, and how long.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Finished runs in the store.
    pub runs: usize,
    /// Slices of each Worker in a row.
    pub pairs: usize,
    /// One slice of a row that is one of many.
    pub light: Duration,
    /// One slice of a row of its own.
    pub full: Duration,
    /// One slice of the live runs that flush.
    pub flush: Duration,
    /// Requests under which the memory is watched.
    pub requests: usize,
    /// Restarts of each.
    pub restarts: usize,
}

/// What is compared, and how the comparison went.
pub struct Contest {
    /// Ours, then the twin.
    pub sides: [Side; 2],
    /// How much is measured.
    pub plan: Plan,
    floor: Floor,
    history: History,
    /// What is there already, by its first request.
    filled: HashSet<Ask>,
    /// The largest share of its core that this process has used in one slice.
    busiest: f64,
    /// The share of the time that the Worker's threads waited for their core, slice by slice.
    delayed: Vec<f64>,
}

impl Contest {
    /// Nothing is filled yet.
    pub fn new(sides: [Side; 2], floor: Floor, plan: Plan, history: History) -> Self {
        Self { sides, plan, floor, history, filled: HashSet::new(), busiest: 0.0, delayed: Vec::new() }
    }

    /// Measures one row.
    pub fn measure(&mut self, row: &Row) -> Result<Measurement> {
        self.provide(&row.needs)?;
        let mut clients = [row.sources()?, row.sources()?];
        let length = if row.weight == Weight::Full { self.plan.full } else { self.plan.light };
        // One slice that does not count: what is compiled as it runs is compiled then.
        for (side, clients) in clients.iter_mut().enumerate() {
            self.slice(side, clients, length)?;
        }
        let mut pairs = Vec::new();
        for pair in 0..self.plan.pairs {
            let mut slices = [Slice::default(), Slice::default()];
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            for side in order {
                slices[side] = self.slice(side, &mut clients[side], length)?;
            }
            pairs.push(slices);
        }
        // Of several clients the floor has no use: there is nobody to wait for.
        let floor = match row.sources()?.as_mut_slice() {
            [source] => self.floor.measure(source, length)?,
            _ => None,
        };
        Ok(Measurement { name: row.name.clone(), pairs, floor })
    }

    /// Lets the live runs flush at each Worker in turn.
    pub fn flush(&mut self) -> Result<[Slice; 2]> {
        self.provide(&Needs::These(flush::names().map(|run| rows::claim(&run)).collect()))?;
        let mut clients = [flush::sources(), flush::sources()];
        let mut sums = [Slice::default(), Slice::default()];
        for side in [0, 1, 1, 0] {
            let slice = flush::slice(self.sides[side].measured()?, &mut clients[side], self.plan.flush)?;
            self.note_shares(&slice);
            sums[side].add(slice);
        }
        Ok(sums)
    }

    /// Sees to it that all three have this.
    pub fn provide(&mut self, needs: &Needs) -> Result<()> {
        let asks = match needs {
            Needs::Nothing => return Ok(()),
            Needs::History => rows::history(self.history)?,
            Needs::These(asks) => asks.clone(),
        };
        if asks.first().is_some_and(|first| self.filled.contains(first)) {
            return Ok(());
        }
        self.filled.extend(asks.first().cloned());
        let step = Step::begin("filling");
        fill::fill(&self.sides, &asks)?;
        self.floor.fill(&asks)?;
        step.done(&format!("{} requests to each", asks.len()));
        Ok(())
    }

    /// How it was measured, and how far it can be trusted.
    pub fn note(&self) -> String {
        let Plan { runs, pairs, .. } = self.plan;
        let mean = self.delayed.iter().sum::<f64>() / self.delayed.len().max(1) as f64;
        format!(
            "Bare workerd for both, on one core; the load on another, at most {} % busy. {pairs} pairs of slices a \
             row, in alternating order; {runs} finished runs.\nRates and latencies over HTTP/1.1, kept alive; CPU is \
             that of all the runtime's threads (schedstat), for each request. rusqlite is the same store in process, \
             without HTTP.\nThe Workers' threads waited for their core {} % of the time, in one slice {} %: for \
             each other, and for whatever else ran.",
            percent(self.busiest),
            percent(mean),
            percent(self.delayed.iter().copied().fold(0.0, f64::max)),
        )
    }

    fn slice(&mut self, side: usize, clients: &mut [Source], length: Duration) -> Result<Slice> {
        let slice = slice(self.sides[side].measured()?, clients, Until::Time(length))?;
        self.note_shares(&slice);
        Ok(slice)
    }

    fn note_shares(&mut self, slice: &Slice) {
        let share = |time: Duration| time.as_secs_f64() / slice.wall.as_secs_f64();
        self.busiest = self.busiest.max(share(slice.generator));
        self.delayed.push(share(slice.delayed));
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}
