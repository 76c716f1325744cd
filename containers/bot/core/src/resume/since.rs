//! What the stored events tell of the step that a run goes on with.
//!
//! The step's record has the last seq before its calls, as its process counted. What that process had not flushed died
//! with it, and whoever goes on counts from behind what was stored: its events of the step may have lower seqs than the
//! record says (docs/decisions/0011). So the run's state keeps the lowest, for whoever goes on after that. A step whose
//! record was lost has none: its events begin where the model was asked for it. Not here: what is told again (`run`).

use ars_wire::ledger::StepRecord;
use serde_json::{Map, Value, json};

use crate::run::{First, MODEL_TURN, Told};

/// The field of the run's state.
const FIELD: &str = "stepEvents";

/// The calls and results of the step that the stream has already. Where its events begin is kept in the state. Ids may
/// repeat from step to step, so nothing is said of the steps beside it.
pub(super) fn told(
    state: &mut Map<String, Value>,
    record: &StepRecord,
    first: &First,
    events: &[Value],
) -> Told {
    let last = events.iter().filter_map(seq).max().unwrap_or_default();
    let recorded = record.seq.min(last);
    let after = kept(state, record.step).unwrap_or_else(|| match first {
        // The record that there is, and its seq, are of the step before.
        First::RunStep(_) => {
            let before = record.step.checked_sub(1).and_then(|step| kept(state, step));
            model_asked(events, before.unwrap_or(recorded)).unwrap_or(last)
        }
        First::Begin | First::CallModel | First::Settle(_) => recorded,
    });
    let after = after.min(last);
    state.insert(FIELD.to_owned(), json!({ "step": record.step, "after": after }));
    match first {
        First::Settle(_) | First::RunStep(_) => told_after(events, after),
        // The calls that the model makes next are others.
        First::Begin | First::CallModel => Told::default(),
    }
}

/// Where the step's events begin, if the state says so of this very step.
fn kept(state: &Map<String, Value>, step: u64) -> Option<u64> {
    state.get(FIELD).filter(|kept| kept["step"] == step)?["after"].as_u64()
}

/// Where the model was first asked behind `after`: all results of the step before are told by then.
fn model_asked(events: &[Value], after: u64) -> Option<u64> {
    let is_asked = |event: &&Value| event["type"] == "span_start" && event["name"] == MODEL_TURN;
    events.iter().filter(is_asked).filter_map(seq).find(|seq| *seq > after)
}

fn told_after(events: &[Value], after: u64) -> Told {
    let ids = |kind: &str| {
        let since = events.iter().filter(|event| seq(event).is_some_and(|seq| seq > after));
        let of_kind = since.filter(|event| event["type"] == kind);
        of_kind.filter_map(|event| event["callId"].as_str().map(str::to_owned)).collect()
    };
    Told { calls: ids("tool_call"), results: ids("tool_result") }
}

fn seq(event: &Value) -> Option<u64> {
    event["seq"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: u64, seq: u64) -> StepRecord {
        let record = json!({
            "step": step, "seq": seq, "turnIndex": 0, "inFlight": [], "inboxConsumedSeq": 0, "remainingMs": 0,
            "turn": 0, "iteration": 0,
        });
        serde_json::from_value(record).unwrap()
    }

    fn call(seq: u64, id: &str) -> Value {
        json!({ "seq": seq, "type": "tool_call", "callId": id })
    }

    fn result(seq: u64, id: &str) -> Value {
        json!({ "seq": seq, "type": "tool_result", "callId": id })
    }

    fn asked(seq: u64) -> Value {
        json!({ "seq": seq, "type": "span_start", "name": MODEL_TURN })
    }

    /// The calls and the results that are told, each as one text.
    fn ids(told: &Told) -> [String; 2] {
        [&told.calls, &told.results].map(|ids| {
            let mut ids: Vec<_> = ids.iter().map(String::as_str).collect();
            ids.sort_unstable();
            ids.join(" ")
        })
    }

    #[test]
    fn the_lowest_seq_counts_until_the_run_is_at_another_step() {
        let (mut state, settle) = (Map::new(), First::Settle(Vec::new()));
        let mut after = |record: StepRecord, last: u64| {
            told(&mut state, &record, &settle, &[asked(last)]);
            state[FIELD]["after"].as_u64().unwrap()
        };
        assert_eq!(after(at(8, 84), 90), 84);
        assert_eq!(after(at(9, 100), 95), 95);
        // What this process told of the step is behind 95, though the record says 100.
        assert_eq!(after(at(9, 100), 120), 95);
        assert_eq!(after(at(10, 130), 140), 130);
    }

    #[test]
    fn the_calls_of_a_step_are_told_from_behind_its_record() {
        let events =
            [call(7, "c0"), result(8, "c0"), asked(9), call(11, "c0"), call(12, "c1"), result(13, "c1")];
        let settle = First::Settle(Vec::new());
        assert_eq!(ids(&told(&mut Map::new(), &at(2, 10), &settle, &events)), ["c0 c1", "c1"]);
    }

    #[test]
    fn of_a_step_whose_record_was_lost_nothing_is_told_that_the_step_before_had_by_the_same_id() {
        let first = First::RunStep(Vec::new());
        let before = [asked(4), call(6, "c0"), result(7, "c0")];
        let told_by = |events: &[Value]| ids(&told(&mut Map::new(), &at(2, 5), &first, events));
        assert_eq!(told_by(&before), ["", ""], "the process died before its model call was flushed");
        assert_eq!(told_by(&[&before[..], &[asked(8)]].concat()), ["", ""]);
        // Calls that change nothing may run although their step was not stored.
        let ran = [&before[..], &[asked(8), call(10, "c0"), call(11, "c1"), result(12, "c1")]].concat();
        assert_eq!(told_by(&ran), ["c0 c1", "c1"]);
    }

    #[test]
    fn where_a_step_without_a_record_begins_is_kept_for_whoever_goes_on_later() {
        let mut state = Map::new();
        let mut events = vec![asked(4), call(6, "c0"), result(7, "c0"), asked(8)];
        told(&mut state, &at(2, 5), &First::RunStep(Vec::new()), &events);
        events.extend([call(10, "c0")]);
        // Its record is stored by now.
        let settled = told(&mut state, &at(2, 9), &First::Settle(Vec::new()), &events);
        assert_eq!(ids(&settled), ["c0", ""]);
    }

    #[test]
    fn a_step_without_a_record_is_found_behind_one_whose_events_were_lost() {
        let mut state = Map::new();
        // The record counted 20 events, of which 10 were stored; the step's are behind those.
        told(&mut state, &at(1, 20), &First::Settle(Vec::new()), &[asked(10)]);
        let events = [asked(10), call(11, "c0"), result(12, "c0"), asked(13), call(14, "c1")];
        let ran = told(&mut state, &at(2, 20), &First::RunStep(Vec::new()), &events);
        assert_eq!(ids(&ran), ["c1", ""]);
    }

    #[test]
    fn the_calls_of_a_model_that_is_asked_next_are_not_told_yet() {
        let events = [asked(4), call(6, "c0"), result(7, "c0")];
        assert_eq!(ids(&told(&mut Map::new(), &at(2, 5), &First::CallModel, &events)), ["", ""]);
    }
}
