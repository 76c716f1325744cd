//! The current step's calls that a resumed run's stream shows already.
//!
//! A step record has the last seq before the step's calls, as the previous process counted. Events
//! that it had not flushed are lost, and the next process counts from the last stored event, so the
//! step's events may have lower seqs than the record (docs/decisions/0011). The run's state keeps
//! the lowest seq. A step with a lost record has none: its events begin at the model call.

use ars_agent::resume::{RunState, StepEvents};
use ars_wire::ledger::StepRecord;
use serde_json::Value;

use crate::{
    registry::MODEL_TURN,
    run::{First, PublishedCalls},
};

/// Returns the step's calls and results in the stream, and keeps their start in the state. Ids may
/// repeat from step to step, so other steps do not count.
pub(super) fn calls(
    state: &mut RunState,
    record: &StepRecord,
    first: &First,
    events: &[Value],
) -> PublishedCalls {
    let last = events.iter().filter_map(seq).max().unwrap_or_default();
    let recorded = record.seq.min(last);
    let after = kept(state, record.step).unwrap_or_else(|| match first {
        // The stored record and seq are the previous step's.
        First::RunStep(_) => {
            let before = record
                .step
                .checked_sub(1)
                .and_then(|step| kept(state, step));
            model_call(events, before.unwrap_or(recorded)).unwrap_or(last)
        }
        First::Begin | First::CallModel | First::Settle(_) => recorded,
    });
    let after = after.min(last);
    state.step_events = Some(StepEvents {
        step: record.step,
        after,
    });
    match first {
        First::Settle(_) | First::RunStep(_) => published_after(events, after),
        // The next model call makes other calls.
        First::Begin | First::CallModel => PublishedCalls::default(),
    }
}

/// Returns where the step's events start, if the state has it for this step.
fn kept(state: &RunState, step: u64) -> Option<u64> {
    state
        .step_events
        .filter(|kept| kept.step == step)
        .map(|kept| kept.after)
}

/// Returns the first model call behind `after`. All results from the previous step precede it.
fn model_call(events: &[Value], after: u64) -> Option<u64> {
    let is_model_call =
        |event: &&Value| event["type"] == "span_start" && event["name"] == MODEL_TURN;
    events
        .iter()
        .filter(is_model_call)
        .filter_map(seq)
        .find(|seq| *seq > after)
}

fn published_after(events: &[Value], after: u64) -> PublishedCalls {
    let ids = |kind: &str| {
        let behind = events
            .iter()
            .filter(|event| seq(event).is_some_and(|seq| seq > after));
        let of_kind = behind.filter(|event| event["type"] == kind);
        of_kind
            .filter_map(|event| event["callId"].as_str().map(str::to_owned))
            .collect()
    };
    PublishedCalls {
        calls: ids("tool_call"),
        results: ids("tool_result"),
    }
}

fn seq(event: &Value) -> Option<u64> {
    event["seq"].as_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    fn model_called(seq: u64) -> Value {
        json!({ "seq": seq, "type": "span_start", "name": MODEL_TURN })
    }

    /// Joins calls and results, each into a text.
    fn ids(published: &PublishedCalls) -> [String; 2] {
        [&published.calls, &published.results].map(|ids| {
            let mut ids: Vec<_> = ids.iter().map(String::as_str).collect();
            ids.sort_unstable();
            ids.join(" ")
        })
    }

    #[test]
    fn lowest_seq_counts_until_the_next_step() {
        let (mut state, settle) = (RunState::default(), First::Settle(Vec::new()));
        let mut after = |record: StepRecord, last: u64| {
            calls(&mut state, &record, &settle, &[model_called(last)]);
            state.step_events.unwrap().after
        };
        assert_eq!(after(at(8, 84), 90), 84);
        assert_eq!(after(at(9, 100), 95), 95);
        // The step's events are behind 95 although the record has 100.
        assert_eq!(after(at(9, 100), 120), 95);
        assert_eq!(after(at(10, 130), 140), 130);
    }

    #[test]
    fn calls_behind_the_record_are_published() {
        let events = [
            call(7, "c0"),
            result(8, "c0"),
            model_called(9),
            call(11, "c0"),
            call(12, "c1"),
            result(13, "c1"),
        ];
        let settle = First::Settle(Vec::new());
        assert_eq!(
            ids(&calls(
                &mut RunState::default(),
                &at(2, 10),
                &settle,
                &events
            )),
            ["c0 c1", "c1"]
        );
    }

    #[test]
    fn calls_of_the_previous_step_are_not_counted() {
        let first = First::RunStep(Vec::new());
        let before = [model_called(4), call(6, "c0"), result(7, "c0")];
        let calls_of =
            |events: &[Value]| ids(&calls(&mut RunState::default(), &at(2, 5), &first, events));
        assert_eq!(
            calls_of(&before),
            ["", ""],
            "the process died before its model call was flushed"
        );
        assert_eq!(
            calls_of(&[&before[..], &[model_called(8)]].concat()),
            ["", ""]
        );
        // Calls that change nothing may run although their step was not stored.
        let ran = [
            &before[..],
            &[
                model_called(8),
                call(10, "c0"),
                call(11, "c1"),
                result(12, "c1"),
            ],
        ]
        .concat();
        assert_eq!(calls_of(&ran), ["c0 c1", "c1"]);
    }

    #[test]
    fn start_of_a_step_without_record_is_kept() {
        let mut state = RunState::default();
        let mut events = vec![
            model_called(4),
            call(6, "c0"),
            result(7, "c0"),
            model_called(8),
        ];
        calls(&mut state, &at(2, 5), &First::RunStep(Vec::new()), &events);
        events.extend([call(10, "c0")]);
        // The step's record is stored by now.
        let settled = calls(&mut state, &at(2, 9), &First::Settle(Vec::new()), &events);
        assert_eq!(ids(&settled), ["c0", ""]);
    }

    #[test]
    fn step_without_record_is_found_behind_lost_events() {
        let mut state = RunState::default();
        // The record counted 20 events, but only 10 were stored; the step's are behind those.
        calls(
            &mut state,
            &at(1, 20),
            &First::Settle(Vec::new()),
            &[model_called(10)],
        );
        let events = [
            model_called(10),
            call(11, "c0"),
            result(12, "c0"),
            model_called(13),
            call(14, "c1"),
        ];
        let ran = calls(&mut state, &at(2, 20), &First::RunStep(Vec::new()), &events);
        assert_eq!(ids(&ran), ["c1", ""]);
    }

    #[test]
    fn calls_of_the_next_model_call_are_not_published() {
        let events = [model_called(4), call(6, "c0"), result(7, "c0")];
        assert_eq!(
            ids(&calls(
                &mut RunState::default(),
                &at(2, 5),
                &First::CallModel,
                &events
            )),
            ["", ""]
        );
    }
}
