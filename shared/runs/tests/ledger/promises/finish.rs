//! What a finish leaves: the record, as a put would have written it, and nothing of the live run.
//!
//! That a provisional record never replaces a final one is the writer's promise (state-worker supplement section
//! 10.4): the store cannot tell them apart. What it gives the writer is here: a finish replaces whatever was there,
//! and is refused when repeated, so that the writer knows the run is over.

use ars_testkit::ledger::{
    Attempt, Name, Observer, Operation, Outcome, Record, Subject as _, World, sequences,
};
use proptest::prelude::*;
use serde_json::json;

use super::{CASES, ask, hold, holds, live, row};
use crate::model::cases;
use crate::native::Native;

/// Tables of finished runs. Every other one is the ledger's.
const HISTORY: [&str; 2] = ["runs", "run_events"];

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn a_finished_run_leaves_no_live_row_nor_anything_that_hung_on_it(
        sequence in sequences(&World::crashing().without_history()),
    ) {
        hold(&World::crashing().without_history(), &sequence, NothingLeft)?;
    }

    #[test]
    fn a_finish_writes_what_a_put_does_over_whatever_was_there(sequence in sequences(&World::crashing())) {
        hold(&World::crashing(), &sequence, AsPut)?;
    }

    #[test]
    fn a_repeated_finish_is_told_that_the_run_is_unknown(
        sequence in sequences(&World::crashing().without_history()),
    ) {
        hold(&World::crashing().without_history(), &sequence, Repeated::default())?;
    }
}

struct NothingLeft;

impl Observer<Native> for NothingLeft {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt { operation, now, outcome } = attempt;
        let Some(run) = finished(operation, outcome) else { return Ok(()) };
        let rows = live(native, now);
        holds(row(&rows, run).is_none(), || format!("live: {rows:?}"))?;
        let left = native.dump_of_runs().into_iter().filter(|(table, _)| !HISTORY.contains(&table.as_str()));
        let named = left.into_iter().find(|(_, rows)| format!("{rows:?}").contains(run));
        holds(named.is_none(), || format!("left behind: {named:?}"))
    }
}

struct AsPut;

impl Observer<Native> for AsPut {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt { operation, now, outcome } = attempt;
        let (Operation::Finish { record, .. }, Some(run)) = (operation, finished(operation, outcome)) else {
            return Ok(());
        };
        let stored = match outcome {
            Outcome::Answered(_, answer) => answer["stored"].as_bool(),
            Outcome::Lost { .. } => None,
        };
        let (put, written) = elsewhere(record, run, now);
        let kept = ask(native, "/runs/get", json!({ "id": run }), now);
        holds(kept == written, || format!("put: {written}\nfinish: {kept}"))?;
        holds(stored.is_none_or(|stored| stored == put), || format!("put stored: {put}, finish: {stored:?}"))
    }
}

/// Whether a put of the same record stores it, and what it reads as, in a store of its own.
fn elsewhere(record: &Record, run: Name, now: i64) -> (bool, serde_json::Value) {
    let mut other = Native::new();
    let put = ask(&mut other, "/runs/put", json!({ "record": record.json() }), now);
    (put["stored"] == true, ask(&mut other, "/runs/get", json!({ "id": run }), now))
}

/// Whether the attempt before was a finish that was carried out and never answered.
#[derive(Default)]
struct Repeated(bool);

impl Observer<Native> for Repeated {
    fn after(&mut self, native: &mut Native, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt { operation, now, outcome } = attempt;
        let unknown = json!({ "ok": false, "reason": "unknown-run" });
        if std::mem::take(&mut self.0) {
            let told = *outcome == Outcome::Answered(409, unknown.clone());
            holds(told, || format!("the bot's repetition got {outcome:?}"))?;
        }
        if finished(operation, outcome).is_some() {
            self.0 = matches!(outcome, Outcome::Lost { .. });
            let again = native.call("/runs/finish", &operation.body(), now);
            holds(again == (409, unknown), || format!("a duplicate got {again:?}"))?;
        }
        Ok(())
    }
}

/// The run that was finished, whether or not the answer arrived.
fn finished(operation: &Operation, outcome: &Outcome) -> Option<Name> {
    match (operation, outcome) {
        (Operation::Finish { writer, .. }, Outcome::Answered(200, _) | Outcome::Lost { kept: true }) => {
            Some(writer.run)
        }
        _ => None,
    }
}
