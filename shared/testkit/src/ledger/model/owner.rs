//! Requests by a run's owner: claim, heartbeat, append, step, state, finishing, finish.

use std::collections::btree_map::Entry;

use serde_json::{Value, json};

use super::history::numbered;
use super::rules::Rules;
use super::{
    Model,
    answer::{Answer, fenced, ok},
    row::{Phase, Row},
};
use crate::ledger::expected::Expected;
use crate::ledger::payload::{Claim, Event, Record, Step, Writer, state_json};

impl Model {
    pub(super) fn claim(&mut self, claim: &Claim, now: i64) -> Answer {
        Rules::default()
            .writer(&claim.writer)
            .thread(claim.thread)
            .lease(claim.lease_ms)
            .hold()?;
        // An expired lease does not free the thread.
        if let Some(row) = self.live.values().find(|row| row.thread == claim.thread) {
            return if row.claim.writer.run == claim.writer.run
                && row.owner == claim.writer.generation
            {
                Ok(ok())
            } else {
                Err(thread_live(row))
            };
        }
        match self.live.entry(claim.writer.run) {
            // Decided: a run that is live on another thread is rejected with its own id.
            Entry::Occupied(row) => Err(thread_live(row.get())),
            Entry::Vacant(place) => {
                place.insert(Row::new(claim, now));
                Ok(ok())
            }
        }
    }

    pub(super) fn heartbeat(&mut self, writer: &Writer, lease_ms: i64, now: i64) -> Answer {
        Rules::default().writer(writer).lease(lease_ms).hold()?;
        let row = self.owned(writer)?;
        row.lease_until = now + lease_ms;
        Ok(Expected::ok(
            json!({ "ok": true, "stop": row.stop, "phase": row.phase.word() }),
        ))
    }

    pub(super) fn append(&mut self, writer: &Writer, events: &[Event]) -> Answer {
        Rules::default().writer(writer).appended(events).hold()?;
        self.owned(writer)?;
        let stored = self.events.entry(writer.run).or_default();
        stored.extend(events.iter().map(|event| (event.seq, event.json())));
        Ok(ok())
    }

    pub(super) fn step(&mut self, writer: &Writer, step: &Step) -> Answer {
        let rules = Rules::default().writer(writer);
        rules
            .that(step.step >= 0, "step")
            .that(step.consumed >= 0, "inboxConsumedSeq")
            .hold()?;
        self.owned(writer)?
            .steps
            .insert(step.step, (step.consumed, step.json()));
        Ok(ok())
    }

    pub(super) fn state(&mut self, writer: &Writer, state: u8) -> Answer {
        Rules::default().writer(writer).hold()?;
        self.owned(writer)?.state = state_json(state);
        Ok(ok())
    }

    pub(super) fn finishing(&mut self, writer: &Writer) -> Answer {
        Rules::default().writer(writer).hold()?;
        let row = self.owned(writer)?;
        match row.phase {
            Phase::Live | Phase::Handoff => {
                row.phase = Phase::Finishing;
                Ok(ok())
            }
            Phase::Finishing => Err(fenced()),
        }
    }

    pub(super) fn finish(&mut self, writer: &Writer, record: &Record, now: i64) -> Answer {
        let rules = Rules::default().writer(writer).record(record);
        rules.that(record.id == writer.run, "id").hold()?;
        self.owned(writer)?;
        self.live.remove(writer.run);
        let written = self.write(record, now);
        if written.stored {
            // The record's events become the run's event rows. Even a record with the same version,
            // whose events a put would keep, does not contain events appended since.
            self.events.insert(record.id, numbered(&record.events));
        }
        Ok(Expected::ok(
            json!({ "ok": true, "stored": written.stored }),
        ))
    }
}

fn thread_live(row: &Row) -> Expected {
    let mut live = json!({ "runId": row.claim.writer.run, "startedAt": row.claim.started_at });
    if let Some(agent) = row.claim.agent {
        live["agent"] = Value::from(agent);
    }
    Expected::Answer(
        409,
        json!({ "ok": false, "reason": "thread-live", "live": live }),
    )
}
