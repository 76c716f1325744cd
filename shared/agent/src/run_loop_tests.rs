//! Tests of the loop: each rule of bot supplement section 14, then invariants over random runs.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const MINUTE: i64 = 60_000;
const START: i64 = 1_000_000;

fn new_loop(turns: u32) -> Loop {
    let budget = Budget { turns, time_ms: 20 * MINUTE };
    Loop::new(budget, vec![Turn::text(Role::User, "fix it")], START)
}

fn says(text: &str, stop: StopReason) -> Input {
    Input::Model(ModelTurn { parts: vec![Part::text(text)], stop, usage: Usage::default() })
}

fn asks(tools: &[&str]) -> Input {
    let parts = tools.iter().enumerate().map(|(index, name)| Part::ToolCall {
        call_id: format!("c{index}"),
        name: (*name).into(),
        input: json!({}),
        extra: serde_json::Map::default(),
    });
    Input::Model(ModelTurn { parts: parts.collect(), stop: StopReason::ToolUse, usage: Usage::default() })
}

fn outcome(ok: bool, infra: bool) -> ToolOutcome {
    let content = vec![ToolContent::Text { text: "pipe broke\nmore".into() }];
    ToolOutcome { call_id: "c0".into(), ok, infra, content }
}

fn notes(actions: &[Action]) -> Vec<NoteKind> {
    let kinds = actions.iter().filter_map(|action| match action {
        Action::Publish(EventBody::RunNote { kind, .. }) => Some(*kind),
        _ => None,
    });
    kinds.collect()
}

fn ending(actions: &[Action]) -> Option<&Ending> {
    match actions.last() {
        Some(Action::Finish(ending)) => Some(ending),
        _ => None,
    }
}

fn closing_call(actions: &[Action]) -> bool {
    matches!(actions.last(), Some(Action::CallModel { may_call_tools: false, limit_ms: CLOSING_CALL_MS }))
}

#[test]
fn an_answer_without_calls_completes_the_run() {
    let mut run = new_loop(8);
    run.step(Input::Start, START);
    let actions = run.step(says("done", StopReason::EndTurn), START);
    assert_eq!(ending(&actions), Some(&Ending { status: RunStatus::Completed, answer: Some("done".into()) }));
}

#[test]
fn calls_run_and_their_results_become_the_next_user_turn() {
    let mut run = new_loop(8);
    let actions = run.step(asks(&["bash"]), START);
    assert!(matches!(actions.as_slice(), [Action::RunTools(calls)] if calls[0].name == "bash"));
    let actions = run.step(Input::Tools(vec![outcome(true, false)]), START);
    assert!(matches!(actions.as_slice(), [Action::CallModel { may_call_tools: true, .. }]));
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
    assert_eq!(actions[0], Action::Publish(EventBody::Assistant { text: "looking".into() }));
}

#[test]
fn the_turn_budget_ends_in_one_call_without_tools() {
    let mut run = new_loop(1);
    run.step(asks(&["bash"]), START);
    let actions = run.step(Input::Tools(vec![outcome(true, false)]), START);
    assert_eq!(notes(&actions), [NoteKind::TurnBudgetExhausted]);
    assert!(closing_call(&actions));
    let actions = run.step(says("found a thing", StopReason::EndTurn), START);
    let ending = ending(&actions).unwrap();
    assert_eq!(ending.status, RunStatus::Completed);
    assert!(ending.answer.as_ref().unwrap().contains("1 turns"));
    assert!(ending.answer.as_ref().unwrap().ends_with("found a thing"));
}

#[test]
fn status_updates_do_not_use_up_turns_but_cannot_go_on_forever() {
    let mut run = new_loop(2);
    for _ in 0..3 {
        run.step(asks(&["update_status"]), START);
        let actions = run.step(Input::Tools(vec![outcome(true, false)]), START);
        assert!(matches!(actions.last(), Some(Action::CallModel { may_call_tools: true, .. })));
    }
    run.step(asks(&["update_status"]), START);
    let actions = run.step(Input::Tools(vec![outcome(true, false)]), START);
    assert_eq!(notes(&actions), [NoteKind::TurnBudgetExhausted]);
}

#[test]
fn the_model_is_told_once_to_wrap_up() {
    let mut run = new_loop(60);
    let late = START + 18 * MINUTE;
    run.step(asks(&["bash"]), START);
    let actions = run.step(Input::Tools(vec![outcome(true, false)]), late);
    assert_eq!(notes(&actions), [NoteKind::WrapUp]);
    assert!(matches!(run.turns().last().unwrap().parts.last(), Some(Part::Text { .. })));
    run.step(asks(&["bash"]), late);
    assert_eq!(notes(&run.step(Input::Tools(vec![outcome(true, false)]), late)), []);
}

#[test]
fn the_time_budget_ends_a_run_between_steps_and_during_a_call() {
    let mut run = new_loop(60);
    run.step(asks(&["bash"]), START);
    let actions = run.step(Input::Tools(vec![outcome(true, false)]), START + 20 * MINUTE);
    assert_eq!(notes(&actions), [NoteKind::TimeBudgetExhausted]);
    let mut run = new_loop(60);
    assert!(closing_call(&run.step(Input::ModelTimedOut, START)));
    let actions = run.step(Input::ModelTimedOut, START);
    assert!(ending(&actions).unwrap().answer.as_ref().unwrap().contains("20 minutes"));
}

#[test]
fn two_infrastructure_failures_in_a_row_end_the_run() {
    let mut run = new_loop(60);
    run.step(asks(&["bash"]), START);
    run.step(Input::Tools(vec![outcome(false, true)]), START);
    run.step(asks(&["bash"]), START);
    run.step(Input::Tools(vec![outcome(false, false)]), START);
    run.step(asks(&["bash"]), START);
    assert_eq!(notes(&run.step(Input::Tools(vec![outcome(false, true)]), START)), []);
    run.step(asks(&["bash"]), START);
    let actions = run.step(Input::Tools(vec![outcome(false, true)]), START);
    assert_eq!(notes(&actions), [NoteKind::SandboxDead]);
    assert!(closing_call(&actions));
}

#[test]
fn a_soft_stop_waits_for_the_step_and_then_asks_for_an_answer() {
    let mut run = new_loop(60);
    run.step(asks(&["bash"]), START);
    assert_eq!(run.step(Input::SoftStop, START), [Action::Wait]);
    let actions = run.step(Input::Tools(vec![outcome(true, false)]), START);
    assert_eq!(notes(&actions), [NoteKind::Stopped]);
    let actions = run.step(says("so far", StopReason::EndTurn), START);
    assert_eq!(ending(&actions).unwrap().status, RunStatus::StoppedSoft);
}

#[test]
fn an_answer_given_after_a_soft_stop_is_labelled_as_stopped_early() {
    let mut run = new_loop(60);
    run.step(Input::SoftStop, START);
    let actions = run.step(says("all done", StopReason::EndTurn), START);
    assert_eq!(notes(&actions), [NoteKind::Stopped]);
    assert_eq!(ending(&actions).unwrap().status, RunStatus::StoppedSoft);
}

#[test]
fn a_hard_stop_has_no_answer() {
    let actions = new_loop(60).step(Input::HardStop, START);
    assert_eq!(ending(&actions), Some(&Ending { status: RunStatus::StoppedHard, answer: None }));
}

#[test]
fn a_failed_model_fails_the_run_but_not_its_closing() {
    let mut run = new_loop(60);
    let failed = run.step(Input::ModelFailed("no route".into()), START);
    assert_eq!(ending(&failed).unwrap().status, RunStatus::Failed);
    let mut run = new_loop(1);
    run.step(Input::ModelTimedOut, START);
    let closed = run.step(Input::ModelFailed("no route".into()), START);
    assert_eq!(ending(&closed).unwrap().status, RunStatus::Completed);
}

#[test]
fn refusal_truncation_and_silence_are_said_plainly() {
    for (stop, word) in [
        (StopReason::Refusal, "declined"),
        (StopReason::MaxTokens, "output limit"),
        (StopReason::EndTurn, "without an answer"),
    ] {
        let actions = new_loop(8).step(says("", stop), START);
        assert!(ending(&actions).unwrap().answer.as_ref().unwrap().contains(word), "{word}");
    }
}

#[test]
fn a_paused_turn_is_continued() {
    let mut run = new_loop(8);
    let actions = run.step(says("searching", StopReason::PauseTurn), START);
    assert!(matches!(actions.as_slice(), [Action::CallModel { may_call_tools: true, .. }]));
}

#[test]
fn a_stored_loop_goes_on_where_it_was() {
    let mut run = new_loop(8);
    run.step(asks(&["bash"]), START);
    let text = serde_json::to_string(&run).unwrap();
    let mut restored: Loop = serde_json::from_str(&text).unwrap();
    assert_eq!(
        restored.step(Input::Tools(vec![outcome(true, false)]), START),
        run.step(Input::Tools(vec![outcome(true, false)]), START)
    );
}

proptest! {
    /// Every run ends within twice its turns plus the closing call, and the conversation always alternates
    /// call turns with result turns that answer exactly those calls.
    #[test]
    fn every_run_ends_and_answers_every_call(
        turns in 1u32..12,
        script in proptest::collection::vec((0usize..4, any::<bool>(), 0i64..5), 64),
    ) {
        let mut run = new_loop(turns);
        let mut now = START;
        let mut actions = run.step(Input::Start, now);
        let mut model_calls = 0;
        for (calls, infra, minutes) in script.into_iter().cycle() {
            now += minutes * MINUTE;
            let input = match actions.last() {
                Some(Action::CallModel { may_call_tools, .. }) => {
                    model_calls += 1;
                    if *may_call_tools && calls > 0 { asks(&["bash", "update_status", "x"][..calls]) }
                    else { says("words", StopReason::EndTurn) }
                }
                Some(Action::RunTools(wanted)) => Input::Tools(wanted.iter().map(|call| ToolOutcome {
                    call_id: call.call_id.clone(), ..outcome(!infra, infra)
                }).collect()),
                Some(Action::Finish(_)) => break,
                other => panic!("nothing to wait for after {other:?}"),
            };
            actions = run.step(input, now);
        }
        prop_assert!(ending(&actions).is_some());
        prop_assert!(model_calls <= turns * 2 + 1);
        for pair in run.turns().windows(2) {
            let asked: Vec<_> = calls(&pair[0].parts).into_iter().map(|call| call.call_id).collect();
            let answered: Vec<_> = pair[1].parts.iter().filter_map(|part| match part {
                Part::ToolResult { call_id, .. } => Some(call_id.clone()),
                _ => None,
            }).collect();
            prop_assert_eq!(asked, answered);
        }
    }
}
