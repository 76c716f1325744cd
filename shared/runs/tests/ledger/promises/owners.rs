//! Who owns a run, and how all other generations are rejected.

use std::collections::HashSet;

use ars_testkit::ledger::{Attempt, Observer, Operation, Outcome, World, sequences};
use proptest::prelude::*;
use serde_json::Value;

use super::{CASES, hold, holds, live, row};
use crate::model::cases;
use crate::native::{Native, Table};

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn one_live_run_per_thread(sequence in sequences(&World::crashing())) {
        hold(&World::crashing(), &sequence, OneRunPerThread)?;
    }

    #[test]
    fn rejected_request_changes_nothing(sequence in sequences(&World::crashing())) {
        hold(&World::crashing(), &sequence, RejectionChangesNothing::default())?;
    }

    #[test]
    fn finishing_is_granted_once(sequence in sequences(&World::crashing().without_history())) {
        hold(&World::crashing().without_history(), &sequence, FinishingOnce::default())?;
    }

    #[test]
    fn reclaim_takes_only_orphaned_runs(
        sequence in sequences(&World::crashing().without_history()),
    ) {
        hold(&World::crashing().without_history(), &sequence, OnlyOrphansReclaimed::default())?;
    }
}

struct OneRunPerThread;

impl Observer<Native> for OneRunPerThread {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt { now, .. } = attempt;
        let rows = live(native, now);
        let threads: HashSet<_> = rows.iter().map(|row| row["threadKey"].as_str()).collect();
        holds(threads.len() == rows.len(), || format!("live: {rows:?}"))
    }
}

/// A rejection is a 400, a 409, or `ok: false`.
#[derive(Default)]
struct RejectionChangesNothing(Vec<Table>);

impl Observer<Native> for RejectionChangesNothing {
    fn before(&mut self, native: &mut Native, _: &Operation, _: i64) {
        self.0 = native.dump();
    }

    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt { outcome, .. } = attempt;
        let is_rejected = match outcome {
            Outcome::Answered(status, body) => *status != 200 || body["ok"] == false,
            Outcome::Lost { kept } => !kept,
        };
        let now = native.dump();
        holds(!is_rejected || self.0 == now, || {
            format!("{outcome:?}\nbefore {:?}\nafter  {now:?}", self.0)
        })
    }
}

/// A run in `finishing` rejects another finishing. Only a reclaim or its end changes the phase.
#[derive(Default)]
struct FinishingOnce(Vec<Value>);

impl Observer<Native> for FinishingOnce {
    fn before(&mut self, native: &mut Native, _: &Operation, now: i64) {
        self.0 = live(native, now);
    }

    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation,
            now,
            outcome,
        } = attempt;
        let rows = live(native, now);
        if let (Operation::Finishing { writer }, Outcome::Answered(200, _)) = (operation, outcome) {
            let before = row(&self.0, writer.run).map(|row| &row["phase"]);
            let granted = before.is_some_and(|phase| phase == "live" || phase == "handoff");
            let entered = row(&rows, writer.run).is_some_and(|row| row["phase"] == "finishing");
            holds(granted && entered, || format!("granted out of {before:?}"))?;
        }
        let reclaim = matches!(operation, Operation::Reclaim { .. });
        for finishing in self.0.iter().filter(|row| row["phase"] == "finishing") {
            let after = rows.iter().find(|row| row["runId"] == finishing["runId"]);
            let stays = after.is_none_or(|row| row["phase"] == "finishing");
            holds(stays || reclaim, || format!("finishing ended: {after:?}"))?;
        }
        Ok(())
    }
}

/// A reclaim changes the owner for exactly the runs that others handed off or whose lease expired.
#[derive(Default)]
struct OnlyOrphansReclaimed(Vec<Value>);

impl Observer<Native> for OnlyOrphansReclaimed {
    fn before(&mut self, native: &mut Native, _: &Operation, now: i64) {
        self.0 = live(native, now);
    }

    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation,
            now,
            outcome,
        } = attempt;
        let rows = live(native, now);
        let Operation::Reclaim {
            generation,
            now: requested,
            ..
        } = operation
        else {
            let moved = |row: &&Value| self.0.iter().any(|before| changed_hands(before, row));
            return holds(!rows.iter().any(|row| moved(&row)), || {
                "a run changed hands without a reclaim".into()
            });
        };
        let Outcome::Answered(200, answer) = outcome else {
            return Ok(());
        };
        let reclaimed: HashSet<_> = answer["runs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|run| run["row"]["runId"].as_str())
            .collect();
        let requested = requested.unwrap_or(now);
        for before in &self.0 {
            let expired = before["leaseUntil"]
                .as_i64()
                .is_some_and(|until| until <= requested);
            let orphaned =
                before["ownerGen"] != *generation && (before["phase"] == "handoff" || expired);
            let took = reclaimed.contains(&before["runId"].as_str());
            holds(orphaned == took, || {
                format!("reclaimed: {took}, orphaned: {orphaned}: {before}")
            })?;
        }
        let mine = |row: &&Value| row["ownerGen"] == *generation && row["phase"] == "live";
        let owned = rows
            .iter()
            .filter(|row| reclaimed.contains(&row["runId"].as_str()))
            .all(|row| mine(&row));
        holds(owned, || {
            format!("a reclaimed run is not the reclaimer's: {rows:?}")
        })
    }
}

/// Returns whether this is the same run and claim with another owner.
fn changed_hands(before: &Value, after: &Value) -> bool {
    before["runId"] == after["runId"] && before["ownerGen"] != after["ownerGen"]
}
