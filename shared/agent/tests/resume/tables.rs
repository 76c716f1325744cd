//! The decision tables, row by row.

use ars_agent::{
    Part, Role, Turn,
    resume::{
        Attempts, Decision, Gap, MAX_ATTEMPTS, Reason, Resume, RunState, RunStep, Settle, decide,
    },
};
use ars_types::RunStatus;
use ars_wire::ledger::{Reclaimed, StepRecord};
use serde_json::{Value, json};

use crate::support::{calls, effects, reclaimed, record, request, results, transcript};

/// Four turns from a run with two calls in the second step.
fn conversation() -> Vec<Turn> {
    vec![
        request(),
        calls(&[("a", "bash")]),
        results(&["a"]),
        calls(&[("b", "bash"), ("c", "read_file")]),
    ]
}

const IN_FLIGHT: [(&str, &str); 2] = [("b", "bash"), ("c", "read_file")];

fn at_four() -> Option<StepRecord> {
    Some(record(2, 4, &IN_FLIGHT))
}

fn decided(run: &Reclaimed, turns: &[Turn]) -> Decision {
    decide(run, transcript(turns), effects)
}

fn closed(run: &Reclaimed, turns: &[Turn]) -> (RunStatus, Reason) {
    match decided(run, turns) {
        Decision::Close { status, reason } => (status, reason),
        other => panic!("not closed: {other:?}"),
    }
}

fn interrupted(run: &Reclaimed, turns: &[Turn]) -> Reason {
    let (status, reason) = closed(run, turns);
    assert_eq!(status, RunStatus::Interrupted);
    reason
}

fn resumed(run: &Reclaimed, turns: &[Turn]) -> Resume {
    match decided(run, turns) {
        Decision::Resume(resume) => resume,
        other => panic!("not resumed: {other:?}"),
    }
}

fn run_step(run: &Reclaimed, turns: &[Turn]) -> RunStep {
    match decided(run, turns) {
        Decision::RunStep(step) => step,
        other => panic!("no step to run: {other:?}"),
    }
}

#[test]
fn finishing_run_closes_with_its_final_status() {
    let table = [
        (
            json!({ "finalStatus": "stopped_soft" }),
            RunStatus::StoppedSoft,
        ),
        (json!({ "finalStatus": "failed" }), RunStatus::Failed),
        (json!({ "finalStatus": "fine" }), RunStatus::Completed),
        (json!({ "finalStatus": null }), RunStatus::Completed),
        (json!({}), RunStatus::Completed),
    ];
    for (state, status) in table {
        // With any other row content.
        for (step, turns) in [(at_four(), conversation()), (None, vec![])] {
            let run = reclaimed(
                "finishing",
                step,
                json!({ "state": state.clone(), "stop": "hard", "system": "" }),
            );
            assert_eq!(closed(&run, &turns), (status, Reason::Ended), "{state}");
        }
    }
}

#[test]
fn ended_run_is_never_resumed() {
    for phase in ["live", "handoff"] {
        let run = reclaimed(
            phase,
            at_four(),
            json!({ "state": { "finalStatus": "completed" } }),
        );
        assert_eq!(interrupted(&run, &conversation()), Reason::MaybeReplied);
        let run = reclaimed(
            phase,
            at_four(),
            json!({ "state": { "finalStatus": null } }),
        );
        resumed(&run, &conversation());
    }
}

#[test]
fn hard_stopped_run_stays_stopped() {
    let run = reclaimed("live", at_four(), json!({ "stop": "hard" }));
    assert_eq!(
        closed(&run, &conversation()),
        (RunStatus::StoppedHard, Reason::Stopped)
    );
    let run = reclaimed("live", at_four(), json!({ "stop": "soft" }));
    resumed(&run, &conversation());
}

#[test]
fn incomplete_run_is_interrupted() {
    let run = reclaimed("live", at_four(), json!({ "system": "" }));
    assert_eq!(interrupted(&run, &conversation()), Reason::NoSpecification);
    let run = reclaimed("handoff", None, json!({}));
    assert_eq!(interrupted(&run, &conversation()), Reason::NoStepRecord);
    let run = reclaimed("live", at_four(), json!({}));
    assert_eq!(interrupted(&run, &[]), Reason::NoTurns);
    let nothing = reclaimed("live", Some(record(0, 0, &[])), json!({}));
    assert_eq!(interrupted(&nothing, &[]), Reason::NoTurns);
    let run = reclaimed(
        "live",
        at_four(),
        json!({ "state": { "unresumable": "part 0 of turn 6" } }),
    );
    assert_eq!(interrupted(&run, &conversation()), Reason::Unresumable);
}

#[test]
fn a_gap_is_interrupted_and_named() {
    let run = reclaimed("live", at_four(), json!({}));
    let mut stored = transcript(&conversation());
    let lost = stored
        .rows
        .iter()
        .position(|row| (row.idx, row.part) == (3, 1))
        .unwrap();
    stored.rows.remove(lost);
    let gap = Reason::Gap(Gap::Part { turn: 3, part: 1 });
    assert_eq!(
        gap.to_string(),
        "the stored conversation is not whole: part 1 of turn 3 is missing"
    );
    let closed = Decision::Close {
        status: RunStatus::Interrupted,
        reason: gap,
    };
    assert_eq!(decide(&run, stored, effects), closed);
}

#[test]
fn turns_stored_against_turns_recorded_decide() {
    let mut turns = conversation();
    turns.extend([results(&["b", "c"]), calls(&[("d", "edit_file")])]);
    turns.extend([results(&["d"]), calls(&[("e", "bash")])]);
    let run = reclaimed("live", at_four(), json!({}));
    for (stored, decision) in [
        (1, "off"),
        (2, "off"),
        (3, "off"),
        (4, "resume"),
        (5, "off"),
        (6, "step"),
        (7, "off"),
        (8, "off"),
    ] {
        let found = match decided(&run, &turns[..stored]) {
            Decision::Resume(_) => "resume",
            Decision::RunStep(_) => "step",
            Decision::Close { status, reason } => {
                assert_eq!(
                    reason,
                    Reason::Turns {
                        stored: stored as u64,
                        recorded: 4
                    }
                );
                assert_eq!(status, RunStatus::Interrupted);
                "off"
            }
        };
        assert_eq!(found, decision, "{stored}");
    }
}

#[test]
fn resume_settles_every_call_of_its_record() {
    let run = reclaimed("live", at_four(), json!({ "state": { "other": 1 } }));
    let resume = resumed(&run, &conversation());
    assert_eq!(resume.turns, conversation());
    assert_eq!(resume.record, at_four().unwrap());
    let settled: Vec<_> = resume
        .settle
        .iter()
        .map(|settled| (settled.call.call_id.as_str(), settled.how))
        .collect();
    assert_eq!(settled, [("b", Settle::Unknown), ("c", Settle::RunAgain)]);
    assert_eq!(resume.settle[1].call.input, json!({ "for": "c" }));
    assert_eq!(
        resume.attempts,
        Attempts {
            step: 2,
            attempts: 1
        }
    );
}

#[test]
fn calls_in_flight_must_match_the_last_turn() {
    let of =
        |in_flight: &[(&str, &str)]| reclaimed("live", Some(record(2, 4, in_flight)), json!({}));
    // Results follow the call order, not the record.
    let resume = resumed(&of(&[("c", "read_file"), ("b", "bash")]), &conversation());
    assert_eq!(resume.settle[0].call.call_id, "b");
    for other in [
        &[("b", "bash")][..],
        &[("b", "bash"), ("c", "read_file"), ("d", "bash")],
        &[("b", "bash"), ("b", "bash")],
        &[("b", "bash"), ("x", "read_file")],
    ] {
        assert_eq!(interrupted(&of(other), &conversation()), Reason::Calls);
    }
    let mut answered = conversation();
    answered[3] = results(&["a"]);
    assert_eq!(interrupted(&of(&IN_FLIGHT), &answered), Reason::Calls);
}

#[test]
fn idle_conversation_must_end_on_a_user_turn() {
    let of = |turns: u64| reclaimed("handoff", Some(record(1, turns, &[])), json!({}));
    let resume = resumed(&of(1), &[request()]);
    assert!(resume.settle.is_empty());
    assert!(resumed(&of(3), &conversation()[..3]).settle.is_empty());
    assert_eq!(
        interrupted(&of(4), &conversation()),
        Reason::NothingToAnswer
    );
    let answered = [request(), Turn::text(Role::Assistant, "done")];
    assert_eq!(interrupted(&of(2), &answered), Reason::NothingToAnswer);
}

#[test]
fn step_without_record_runs_all_calls() {
    let mut turns = conversation();
    turns.extend([results(&["b", "c"]), calls(&[("d", "bash"), ("e", "gone")])]);
    let step = run_step(&reclaimed("live", at_four(), json!({})), &turns);
    assert_eq!(step.turns, turns);
    let ids: Vec<_> = step
        .calls
        .iter()
        .map(|call| call.call_id.as_str())
        .collect();
    assert_eq!(ids, ["d", "e"]);
    let expected = StepRecord {
        turn: 4,
        iteration: 5,
        ..record(3, 6, &[("d", "bash"), ("e", "gone")])
    };
    assert_eq!(step.record, expected);
    assert_eq!(
        step.attempts,
        Attempts {
            step: 2,
            attempts: 1
        }
    );
}

#[test]
fn step_of_status_updates_uses_no_turn() {
    let run = reclaimed("live", at_four(), json!({}));
    let of = |made: &[(&str, &str)]| {
        let mut turns = conversation();
        turns.extend([results(&["b", "c"]), calls(made)]);
        let record = run_step(&run, &turns).record;
        (record.turn, record.iteration)
    };
    assert_eq!(
        of(&[("d", "update_status"), ("e", "update_status")]),
        (3, 5)
    );
    assert_eq!(of(&[("d", "update_status"), ("e", "bash")]), (4, 5));
}

#[test]
fn step_without_record_or_calls_is_interrupted() {
    let run = reclaimed("live", at_four(), json!({}));
    for last in [Turn::text(Role::Assistant, "done"), request(), calls(&[])] {
        let mut turns = conversation();
        turns.extend([results(&["b", "c"]), last]);
        assert_eq!(interrupted(&run, &turns), Reason::NothingToRun);
    }
}

#[test]
fn follow_ups_of_a_stored_step_are_not_repeated() {
    let mut stored = transcript(&conversation());
    let mut answers = results(&["b", "c"]);
    answers.parts.push(Part::text("also mind the docs"));
    let next = [answers, calls(&[("d", "bash")])];
    stored
        .rows
        .extend(ars_agent::resume::encode(4, &next, 5).unwrap().rows);
    let Decision::RunStep(step) = decide(&reclaimed("live", at_four(), json!({})), stored, effects)
    else {
        panic!("a step to run")
    };
    assert_eq!(step.record.inbox_consumed_seq, 5);
}

#[test]
fn run_without_progress_is_interrupted() {
    let resume_at = |state: &Value, from: &str, step: u64| {
        let run = reclaimed(
            from,
            Some(record(step, 4, &IN_FLIGHT)),
            json!({ "state": state }),
        );
        decided(&run, &conversation())
    };
    let mut state = json!({});
    let store = |state: &mut Value, decision: Decision| {
        let Decision::Resume(resume) = decision else {
            panic!("{decision:?}")
        };
        let counted = RunState {
            attempts: Some(resume.attempts),
            ..RunState::default()
        };
        *state = Value::Object(counted.to_row());
    };
    for _ in 0..MAX_ATTEMPTS {
        let decision = resume_at(&state, "live", 2);
        store(&mut state, decision);
    }
    let no_progress = Reason::NoProgress { step: 2 };
    let closed = Decision::Close {
        status: RunStatus::Interrupted,
        reason: no_progress,
    };
    assert_eq!(resume_at(&state, "live", 2), closed);
    // The count restarts at the next step, and a handoff does not count.
    for step in 3..20 {
        let decision = resume_at(&state, "live", step);
        store(&mut state, decision);
    }
    for _ in 0..20 {
        let decision = resume_at(&state, "handoff", 19);
        store(&mut state, decision);
    }
}
