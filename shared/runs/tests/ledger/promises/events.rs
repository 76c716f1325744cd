//! A live run's published events are permanent.

use std::collections::{BTreeMap, BTreeSet};

use ars_testkit::ledger::{Attempt, Event, Name, Observer, Operation, Outcome, World, sequences};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{CASES, ask, hold, holds, live, row};
use crate::model::cases;
use crate::native::Native;

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn acknowledged_events_are_stored_once_in_order(
        sequence in sequences(&World::crashing().without_history()),
    ) {
        hold(&World::crashing().without_history(), &sequence, Acknowledged::default())?;
    }

    #[test]
    fn only_the_ledger_changes_live_events(
        sequence in sequences(&World::crashing()),
    ) {
        hold(&World::crashing(), &sequence, LiveEventsStay::default())?;
    }
}

/// Returns a run's events as readers see them.
fn shown(native: &mut Native, run: Name, now: i64) -> Vec<(i64, Value)> {
    let answer = ask(native, "/runs/live-events", json!({ "runId": run }), now);
    let events = answer["events"].as_array().unwrap().iter().cloned();
    events
        .map(|event| (event["seq"].as_i64().unwrap(), event))
        .collect()
}

/// Live runs' acknowledged events, by seq. Events without a type are not shown to readers.
#[derive(Default)]
struct Acknowledged(BTreeMap<Name, BTreeMap<i64, Option<Value>>>);

impl Observer<Native> for Acknowledged {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation,
            now,
            outcome,
        } = attempt;
        // A lost answer is repeated when the bot repeats the request, but the events are stored
        // already.
        let done = matches!(
            outcome,
            Outcome::Answered(200, _) | Outcome::Lost { kept: true }
        );
        let rows = live(native, now);
        if done {
            for (run, events) in appended(operation, &rows) {
                let shows = |event: &Event| event.is_typed().then(|| event.json());
                let events = events.iter().map(|event| (event.seq, shows(event)));
                self.0.entry(run).or_default().extend(events);
            }
        }
        self.0.retain(|run, _| row(&rows, run).is_some());
        for (run, acknowledged) in &self.0 {
            let shown = shown(native, run, now);
            let in_order = shown.is_sorted_by(|(one, _), (next, _)| one < next);
            holds(in_order, || format!("{run} shows {shown:?}"))?;
            let shown: BTreeMap<_, _> = shown.into_iter().collect();
            let lost = acknowledged
                .iter()
                .find(|(seq, event)| shown.get(seq) != event.as_ref());
            holds(lost.is_none(), || {
                format!("{run} shows {shown:?}, and not {lost:?}")
            })?;
        }
        Ok(())
    }
}

/// Returns the events that a successful request added, by run; for a flush, only those in writable
/// runs.
fn appended<'a>(operation: &'a Operation, rows: &[Value]) -> Vec<(Name, &'a [Event])> {
    match operation {
        Operation::Append { writer, events } => vec![(writer.run, events)],
        Operation::Flush {
            generation, runs, ..
        } => {
            let owned = |run| row(rows, run).is_some_and(|row| row["ownerGen"] == *generation);
            runs.iter()
                .filter(|flush| owned(flush.run))
                .map(|flush| (flush.run, &*flush.events))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Live runs' seqs. Only an append or flush may replace one.
#[derive(Default)]
struct LiveEventsStay(BTreeMap<Name, BTreeSet<i64>>);

impl LiveEventsStay {
    fn seqs(native: &mut Native, now: i64) -> BTreeMap<Name, BTreeSet<i64>> {
        let rows = live(native, now);
        let live = World::RUNS.iter().filter(|run| row(&rows, run).is_some());
        live.map(|run| {
            (
                *run,
                shown(native, run, now)
                    .into_iter()
                    .map(|(seq, _)| seq)
                    .collect(),
            )
        })
        .collect()
    }
}

impl Observer<Native> for LiveEventsStay {
    fn before(&mut self, native: &mut Native, _: &Operation, now: i64) {
        self.0 = Self::seqs(native, now);
    }

    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt { operation, now, .. } = attempt;
        if matches!(
            operation,
            Operation::Append { .. } | Operation::Flush { .. }
        ) {
            return Ok(());
        }
        let after = Self::seqs(native, now);
        let lost = self
            .0
            .iter()
            .find(|(run, seqs)| after.get(*run).is_some_and(|now| !now.is_superset(seqs)));
        holds(lost.is_none(), || {
            format!("lost events of {lost:?}, left: {after:?}")
        })
    }
}
