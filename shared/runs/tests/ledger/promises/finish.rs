//! The state after a finish: the record as a put would have written it, and no row for the live
//! run.
//!
//! The writer must not replace a final record with a provisional record, because the store cannot
//! distinguish them. The store's part is tested here: a finish replaces any stored record, and a
//! repeated finish is rejected, so that the writer knows that the run ended.

use ars_testkit::ledger::{
    Attempt, Name, Observer, Operation, Outcome, Record, Subject as _, World, sequences,
};
use proptest::prelude::*;
use serde_json::json;

use super::{CASES, ask, hold, holds, live, row};
use crate::model::cases;
use crate::native::Native;

/// Tables for finished runs. All others belong to the ledger.
const HISTORY: [&str; 2] = ["runs", "run_events"];

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn finish_deletes_all_live_rows(
        sequence in sequences(&World::crashing().without_history()),
    ) {
        hold(&World::crashing().without_history(), &sequence, NoLiveRows)?;
    }

    #[test]
    fn finish_writes_the_same_record_as_put(sequence in sequences(&World::crashing())) {
        hold(&World::crashing(), &sequence, SameAsPut)?;
    }

    #[test]
    fn repeated_finish_answers_unknown_run(
        sequence in sequences(&World::crashing().without_history()),
    ) {
        hold(&World::crashing().without_history(), &sequence, Repeated::default())?;
    }
}

struct NoLiveRows;

impl Observer<Native> for NoLiveRows {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation,
            now,
            outcome,
        } = attempt;
        let Some(run) = finished(operation, outcome) else {
            return Ok(());
        };
        let rows = live(native, now);
        holds(row(&rows, run).is_none(), || format!("live: {rows:?}"))?;
        let rows = native
            .dump_of_runs()
            .into_iter()
            .filter(|(table, _)| !HISTORY.contains(&table.as_str()));
        let named = rows
            .into_iter()
            .find(|(_, rows)| format!("{rows:?}").contains(run));
        holds(named.is_none(), || format!("not deleted: {named:?}"))
    }
}

struct SameAsPut;

impl Observer<Native> for SameAsPut {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation,
            now,
            outcome,
        } = attempt;
        let (Operation::Finish { record, .. }, Some(run)) =
            (operation, finished(operation, outcome))
        else {
            return Ok(());
        };
        let stored = match outcome {
            Outcome::Answered(_, answer) => answer["stored"].as_bool(),
            Outcome::Lost { .. } => None,
        };
        let (put, written) = elsewhere(record, run, now);
        let kept = ask(native, "/runs/get", json!({ "id": run }), now);
        holds(kept == written, || {
            format!("put: {written}\nfinish: {kept}")
        })?;
        holds(stored.is_none_or(|stored| stored == put), || {
            format!("put stored: {put}, finish: {stored:?}")
        })
    }
}

/// Puts the same record into a separate store. Returns whether it was stored, and the stored form.
fn elsewhere(record: &Record, run: Name, now: i64) -> (bool, serde_json::Value) {
    let mut other = Native::new();
    let put = ask(
        &mut other,
        "/runs/put",
        json!({ "record": record.json() }),
        now,
    );
    (
        put["stored"] == true,
        ask(&mut other, "/runs/get", json!({ "id": run }), now),
    )
}

/// Whether the previous attempt was a finish with a lost answer.
#[derive(Default)]
struct Repeated(bool);

impl Observer<Native> for Repeated {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation,
            now,
            outcome,
        } = attempt;
        let unknown = json!({ "ok": false, "reason": "unknown-run" });
        if std::mem::take(&mut self.0) {
            let is_unknown = *outcome == Outcome::Answered(409, unknown.clone());
            holds(is_unknown, || format!("the bot's retry got {outcome:?}"))?;
        }
        if finished(operation, outcome).is_some() {
            self.0 = matches!(outcome, Outcome::Lost { .. });
            let again = native.call("/runs/finish", &operation.body(), now);
            holds(again == (409, unknown), || {
                format!("a duplicate got {again:?}")
            })?;
        }
        Ok(())
    }
}

/// Returns the finished run, whether or not the answer arrived.
fn finished(operation: &Operation, outcome: &Outcome) -> Option<Name> {
    match (operation, outcome) {
        (
            Operation::Finish { writer, .. },
            Outcome::Answered(200, _) | Outcome::Lost { kept: true },
        ) => Some(writer.run),
        _ => None,
    }
}
