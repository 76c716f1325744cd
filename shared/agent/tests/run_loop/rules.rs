//! The loop's rules, tested individually.

use ars_agent::{
    Action, Input, ModelTurn, Part, Purpose, RunOutcome, Sandbox, StopReason, ToolOutcome, Usage,
};
use ars_events::{EventBody, NoteKind};
use ars_types::RunStatus;

use crate::support::{
    MINUTE, START, answer, asks, broke, closing_call, done, ending, is_call, new_loop, notes,
    outcome, play, says, status,
};

#[test]
fn an_answer_without_calls_completes_the_run() {
    let mut run = new_loop(8);
    let actions = play(&mut run, [Input::Start, says("done", StopReason::EndTurn)]);
    assert_eq!(
        ending(&actions),
        Some(&RunOutcome {
            status: RunStatus::Completed,
            cut_short: false,
            answer: Some("done".into())
        })
    );
}

#[test]
fn results_become_the_next_user_turn() {
    let mut run = new_loop(8);
    let actions = run.step(asks(&["bash"]), START);
    assert!(matches!(actions.as_slice(), [Action::RunTools(calls)] if calls[0].name == "bash"));
    let actions = run.step(done(), START);
    assert!(matches!(
        actions.as_slice(),
        [Action::CallModel {
            purpose: Purpose::Answer,
            ..
        }]
    ));
    assert!(matches!(run.turns()[2].parts[0], Part::ToolResult { .. }));
}

#[test]
fn prose_beside_calls_is_published_before_them() {
    let mut run = new_loop(8);
    let mut turn = ModelTurn {
        parts: vec![Part::text(" looking ")],
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    };
    if let Input::Model(with_calls) = asks(&["bash"]) {
        turn.parts.extend(with_calls.parts);
    }
    let actions = run.step(Input::Model(turn), START);
    assert_eq!(
        actions[0],
        Action::Publish(EventBody::Assistant {
            text: "looking".into()
        })
    );
}

#[test]
fn turn_budget_ends_in_a_closing_call() {
    let mut run = new_loop(1);
    let actions = play(&mut run, [asks(&["bash"]), done()]);
    assert_eq!(notes(&actions), [NoteKind::TurnBudgetExhausted]);
    assert!(closing_call(&actions));
    let actions = run.step(says("found a thing", StopReason::EndTurn), START);
    let ending = ending(&actions).unwrap();
    assert_eq!(ending.status, RunStatus::Completed);
    assert!(ending.answer.as_ref().unwrap().contains("1 turns"));
    assert!(ending.answer.as_ref().unwrap().ends_with("found a thing"));
}

#[test]
fn status_updates_use_iterations_but_no_turns() {
    let mut run = new_loop(2);
    for _ in 0..3 {
        let actions = play(&mut run, [asks(&["update_status"]), done()]);
        assert!(matches!(
            actions.last(),
            Some(Action::CallModel {
                purpose: Purpose::Answer,
                ..
            })
        ));
    }
    let actions = play(&mut run, [asks(&["update_status"]), done()]);
    assert_eq!(notes(&actions), [NoteKind::TurnBudgetExhausted]);
}

#[test]
fn the_model_is_told_once_to_wrap_up() {
    let mut run = new_loop(60);
    let late = START + 18 * MINUTE;
    run.step(asks(&["bash"]), START);
    let actions = run.step(done(), late);
    assert_eq!(notes(&actions), [NoteKind::WrapUp]);
    assert!(matches!(
        run.turns().last().unwrap().parts.last(),
        Some(Part::Text { .. })
    ));
    run.step(asks(&["bash"]), late);
    assert_eq!(notes(&run.step(done(), late)), []);
}

#[test]
fn time_budget_ends_a_run_anywhere() {
    let mut run = new_loop(60);
    run.step(asks(&["bash"]), START);
    let actions = run.step(done(), START + 20 * MINUTE);
    assert_eq!(notes(&actions), [NoteKind::TimeBudgetExhausted]);
    let mut run = new_loop(60);
    assert!(closing_call(&run.step(Input::ModelTimedOut, START)));
    let actions = run.step(Input::ModelTimedOut, START);
    assert!(
        ending(&actions)
            .unwrap()
            .answer
            .as_ref()
            .unwrap()
            .contains("20 minutes")
    );
}

#[test]
fn two_consecutive_infrastructure_failures_end_the_run() {
    let mut run = new_loop(60);
    play(
        &mut run,
        [
            asks(&["bash"]),
            broke(),
            asks(&["bash"]),
            Input::Tools(vec![outcome(false, false)]),
        ],
    );
    run.step(asks(&["bash"]), START);
    assert_eq!(notes(&run.step(broke(), START)), []);
    let actions = play(&mut run, [asks(&["bash"]), broke()]);
    assert_eq!(notes(&actions), [NoteKind::SandboxDead]);
    assert!(closing_call(&actions));
}

#[test]
fn unrelated_results_keep_the_failure_streak() {
    for ok in [true, false] {
        let mut run = new_loop(60);
        play(
            &mut run,
            [asks(&["bash"]), broke(), asks(&["update_status"])],
        );
        let elsewhere = ToolOutcome {
            sandbox: Sandbox::Untouched,
            ..outcome(ok, false)
        };
        assert_eq!(notes(&run.step(Input::Tools(vec![elsewhere]), START)), []);
        let actions = play(&mut run, [asks(&["bash"]), broke()]);
        assert_eq!(notes(&actions), [NoteKind::SandboxDead]);
    }
}

#[test]
fn soft_stop_closes_at_the_next_boundary() {
    let mut run = new_loop(60);
    run.step(asks(&["bash"]), START);
    assert_eq!(run.step(Input::SoftStop, START), [Action::Wait]);
    let actions = run.step(done(), START);
    assert_eq!(notes(&actions), [NoteKind::Stopped]);
    let actions = run.step(says("so far", StopReason::EndTurn), START);
    assert_eq!(ending(&actions).unwrap().status, RunStatus::StoppedSoft);
}

#[test]
fn answer_behind_a_soft_stop_is_labelled() {
    let mut run = new_loop(60);
    let actions = play(
        &mut run,
        [Input::SoftStop, says("all done", StopReason::EndTurn)],
    );
    assert_eq!(notes(&actions), [NoteKind::Stopped]);
    assert_eq!(ending(&actions).unwrap().status, RunStatus::StoppedSoft);
}

#[test]
fn soft_stop_during_closing_sets_the_status() {
    for end in [says("so far", StopReason::EndTurn), Input::ModelTimedOut] {
        let mut run = new_loop(1);
        assert!(closing_call(&run.step(Input::ModelTimedOut, START)));
        assert_eq!(run.step(Input::SoftStop, START), [Action::Wait]);
        let actions = run.step(end, START);
        assert_eq!(notes(&actions), [NoteKind::Stopped]);
        assert_eq!(ending(&actions).unwrap().status, RunStatus::StoppedSoft);
    }
}

#[test]
fn a_hard_stop_has_no_answer() {
    let actions = new_loop(60).step(Input::HardStop, START);
    assert_eq!(
        ending(&actions),
        Some(&RunOutcome {
            status: RunStatus::StoppedHard,
            cut_short: true,
            answer: None
        })
    );
}

#[test]
fn failed_model_call_fails_the_run() {
    let mut run = new_loop(60);
    let failed = run.step(Input::ModelFailed("no route".into()), START);
    assert_eq!(ending(&failed).unwrap().status, RunStatus::Failed);
    let mut run = new_loop(1);
    let closed = play(
        &mut run,
        [Input::ModelTimedOut, Input::ModelFailed("no route".into())],
    );
    assert_eq!(ending(&closed).unwrap().status, RunStatus::Completed);
}

#[test]
fn refusal_truncation_and_silence_are_said_plainly() {
    for (stop, word) in [
        (StopReason::Refusal(None), "declined"),
        (StopReason::MaxTokens, "output limit"),
        (StopReason::EndTurn, "without an answer"),
    ] {
        let actions = new_loop(8).step(says("", stop), START);
        assert!(
            ending(&actions)
                .unwrap()
                .answer
                .as_ref()
                .unwrap()
                .contains(word),
            "{word}"
        );
    }
}

#[test]
fn reason_of_a_refusal_reaches_the_requester() {
    let stop = StopReason::Refusal(Some(format!("policy seven {}", "x".repeat(5_000))));
    let actions = new_loop(8).step(says("", stop), START);
    let answer = answer(&actions);
    assert!(
        answer.contains("declined") && answer.contains("policy seven") && answer.len() < 2_000,
        "{answer}"
    );
}

#[test]
fn closing_answer_names_refusal_and_truncation() {
    for (stop, word) in [
        (StopReason::Refusal(None), "declined"),
        (StopReason::MaxTokens, "output limit"),
    ] {
        for prose in ["", "half of it"] {
            let mut closing = new_loop(1);
            closing.step(Input::ModelTimedOut, START);
            let mut stopped = new_loop(8);
            stopped.step(Input::SoftStop, START);
            for mut run in [closing, stopped] {
                let actions = run.step(says(prose, stop.clone()), START);
                let answer = answer(&actions);
                assert!(answer.contains(prose) && answer.contains(word), "{answer}");
                assert!(
                    !answer.contains("before a summary could be written"),
                    "{answer}"
                );
            }
        }
    }
}

#[test]
fn a_paused_turn_is_continued() {
    let mut run = new_loop(8);
    let actions = run.step(says("searching", StopReason::PauseTurn), START);
    assert!(matches!(
        actions.as_slice(),
        [Action::CallModel {
            purpose: Purpose::Answer,
            ..
        }]
    ));
}

#[test]
fn busy_sandbox_is_noted() {
    let mut run = new_loop(60);
    for _ in 0..3 {
        run.step(asks(&["bash"]), START);
        let busy = ToolOutcome {
            sandbox: Sandbox::Busy,
            ..outcome(false, false)
        };
        let actions = run.step(Input::Tools(vec![busy]), START);
        assert_eq!(notes(&actions), [NoteKind::FleetBusy]);
        assert!(is_call(&actions, Purpose::Answer));
    }
}

#[test]
fn busy_sandbox_keeps_the_failure_streak() {
    let mut run = new_loop(60);
    let busy = ToolOutcome {
        sandbox: Sandbox::Busy,
        ..outcome(false, false)
    };
    for broken in [outcome(false, true), busy] {
        run.step(asks(&["bash"]), START);
        assert!(is_call(
            &run.step(Input::Tools(vec![broken]), START),
            Purpose::Answer
        ));
    }
    run.step(asks(&["bash"]), START);
    assert_eq!(notes(&run.step(broke(), START)), [NoteKind::SandboxDead]);
}

#[test]
fn endless_pauses_end_at_the_turn_budget() {
    let mut run = new_loop(2);
    assert!(is_call(
        &run.step(says("a", StopReason::PauseTurn), START),
        Purpose::Answer
    ));
    assert!(closing_call(
        &run.step(says("b", StopReason::PauseTurn), START)
    ));
}

#[test]
fn continuation_joins_the_paused_turn() {
    let mut run = new_loop(8);
    play(
        &mut run,
        [says("searching", StopReason::PauseTurn), asks(&["bash"])],
    );
    assert_eq!((run.turns().len(), run.turns()[1].parts.len()), (2, 2));
}

#[test]
fn run_stopped_before_its_first_call_closes() {
    let mut run = new_loop(8);
    let actions = play(&mut run, [Input::SoftStop, Input::Start]);
    assert_eq!(notes(&actions), [NoteKind::Stopped]);
    assert!(closing_call(&actions));
    assert_eq!(
        status(&run.step(asks(&["bash"]), START)),
        RunStatus::StoppedSoft
    );
}

#[test]
fn step_in_progress_at_a_soft_stop_is_last() {
    let mut run = new_loop(8);
    play(&mut run, [Input::Start, Input::SoftStop]);
    assert!(matches!(
        run.step(asks(&["bash"]), START).last(),
        Some(Action::RunTools(_))
    ));
    assert!(closing_call(&run.step(done(), START)));
}

#[test]
fn dead_workspace_error_is_in_the_answer() {
    let mut run = new_loop(60);
    run.step(asks(&["a", "b"]), START);
    let actions = run.step(
        Input::Tools(vec![outcome(false, true), outcome(false, true)]),
        START,
    );
    assert_eq!(notes(&actions), [NoteKind::SandboxDead]);
    let told = crate::support::texts(run.turns());
    assert!(
        told.contains("Its last error was: pipe broke. Do not guess"),
        "{told}"
    );
    let actions = run.step(Input::ModelTimedOut, START);
    assert!(answer(&actions).contains("before a summary could be written"));
}
