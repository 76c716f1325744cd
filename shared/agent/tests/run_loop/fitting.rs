//! A conversation that outgrows the model's window.

use ars_agent::{
    Action, Budget, Input, Limits, Loop, ModelTurn, Part, Purpose, Role, StopReason, ToolContent,
    Turn, Usage,
    context::{ContextLimit, estimate_turns},
};
use ars_events::NoteKind;
use ars_types::RunStatus;

use crate::support::{
    MINUTE, REQUEST, START, answer, asks, closing_call, is_call, is_paired, message, new_loop,
    notes, output, play, says, status, texts, used,
};

/// A 10,000-token window, of which 7,000 tokens may be filled.
const LIMIT: u64 = 7_000;
/// Characters that take about a fifth of the limit.
const FIFTH: usize = 5_600;

fn limited() -> Loop {
    let context = Some(ContextLimit::new(10_000, 1_000));
    new_loop(60).with_limits(Limits {
        context,
        ..Limits::default()
    })
}

/// Steps until the loop asks for a summary.
fn outgrown() -> (Loop, Vec<Action>) {
    let mut run = limited();
    let mut actions = run.step(Input::Start, START);
    for _ in 0..10 {
        if is_call(&actions, Purpose::Compact) {
            break;
        }
        run.step(asks(&["bash"]), START);
        actions = run.step(output(FIFTH), START);
    }
    (run, actions)
}

fn size(run: &Loop) -> u64 {
    estimate_turns(run.turns())
}

#[test]
fn summary_replaces_older_turns_before_the_limit() {
    let (mut run, actions) = outgrown();
    assert_eq!(
        actions,
        [Action::CallModel {
            purpose: Purpose::Compact,
            limit_ms: 3 * MINUTE
        }]
    );
    assert!(texts(run.turns()).ends_with("write nothing else."));
    assert!(is_paired(run.turns()) && size(&run) <= LIMIT);
    let whole = run.position(START).turn_index;

    let actions = run.step(says("the story so far", StopReason::EndTurn), START);
    assert_eq!(notes(&actions), [NoteKind::Compacted]);
    assert!(is_call(&actions, Purpose::Answer));
    assert_eq!(run.turns()[0].parts[0], Part::text(REQUEST));
    assert!(texts(run.turns()).ends_with("the story so far"));
    assert!(is_paired(run.turns()) && size(&run) <= LIMIT / 2);
    assert!(matches!(
        run.turns().last().unwrap().parts[0],
        Part::ToolResult { .. }
    ));
    assert_eq!(run.position(START).turn_index, whole);
}

#[test]
fn summary_is_no_step() {
    let (mut run, _) = outgrown();
    let before = run.position(START);
    let usage = Usage {
        input_tokens: 10,
        ..Usage::default()
    };
    let actions = run.step(used(asks(&["bash"]), usage), START);
    assert!(is_call(&actions, Purpose::Answer));
    assert_eq!((run.position(START), run.usage()), (before, usage));
}

#[test]
fn without_a_summary_the_oldest_outputs_are_dropped() {
    for failure in [
        Input::ModelFailed("busy".into()),
        Input::ModelTimedOut,
        Input::ContextTooLong("no".into()),
        says(" ", StopReason::EndTurn),
    ] {
        let (mut run, _) = outgrown();
        let actions = run.step(failure, START);
        assert_eq!(notes(&actions), [NoteKind::Compacted]);
        assert!(is_call(&actions, Purpose::Answer));
        assert!(is_paired(run.turns()) && size(&run) <= LIMIT);
        let Part::ToolResult { content, .. } = &run.turns()[2].parts[0] else {
            panic!("a result")
        };
        assert!(format!("{content:?}").contains("5600 characters, was dropped"));
        assert!(matches!(
            run.step(asks(&["bash"]), START).last(),
            Some(Action::RunTools(_))
        ));
    }
}

#[test]
fn refused_or_truncated_answer_is_no_summary() {
    let Input::Model(mut beside_calls) = asks(&["bash"]) else {
        unreachable!("a turn of the model")
    };
    beside_calls
        .parts
        .insert(0, Part::text("let me look first"));
    let worded = ModelTurn {
        stop: StopReason::EndTurn,
        ..beside_calls.clone()
    };
    for no_summary in [
        says("I cannot help with that.", StopReason::Refusal(None)),
        says("The requester asked for", StopReason::MaxTokens),
        says("searching", StopReason::PauseTurn),
        Input::Model(beside_calls),
        Input::Model(worded),
    ] {
        let (mut run, _) = outgrown();
        let before = run.position(START);
        let actions = run.step(no_summary, START);
        assert!(is_call(&actions, Purpose::Answer));
        let shown = texts(run.turns());
        assert!(!shown.contains("replaced by this summary"), "{shown}");
        assert!(is_paired(run.turns()) && run.position(START) == before);
        // All the steps are there still; only their outputs gave way.
        assert_eq!(run.turns().len() as u64, before.turn_index);
    }
}

#[test]
fn long_summary_keeps_its_end() {
    let (mut run, _) = outgrown();
    // 80 characters per hundred tokens in the limit.
    let asked = texts(run.turns());
    assert!(asked.contains("in at most 5600 characters"), "{asked}");
    let story = format!("asked: fix it {} next: run the tests", "s".repeat(20_000));
    run.step(says(&story, StopReason::EndTurn), START);
    let shown = texts(run.turns());
    assert!(
        shown.contains("asked: fix it") && shown.ends_with("next: run the tests"),
        "{shown}"
    );
    assert!(shown.chars().count() < 6_000 && size(&run) <= LIMIT);
}

#[test]
fn provider_count_overrides_the_estimate() {
    let mut run = limited();
    run.step(Input::Start, START);
    let usage = Usage {
        input_tokens: 1,
        cache_read_tokens: 6_990,
        ..Usage::default()
    };
    run.step(used(asks(&["bash"]), usage), START);
    let mut elsewhere = run.clone();
    // A few tokens by the estimate; the only exchange cannot be summed up, so the output is
    // dropped.
    let actions = run.step(output(2_000), START);
    assert_eq!(notes(&actions), [NoteKind::Compacted]);
    assert!(is_call(&actions, Purpose::Answer));
    // Another model has not counted anything yet.
    assert!(elsewhere.switch_model(None, Some(ContextLimit::new(11_000, 1_000))));
    assert_eq!(notes(&elsewhere.step(output(2_000), START)), []);
}

#[test]
fn rejected_conversation_is_cut_and_resent() {
    let mut run = new_loop(60);
    for _ in 0..4 {
        play(&mut run, [asks(&["bash"]), output(FIFTH)]);
    }
    let before = size(&run);
    let actions = run.step(Input::ContextTooLong("too long".into()), START);
    assert_eq!(notes(&actions), [NoteKind::Compacted]);
    assert!(is_call(&actions, Purpose::Answer));
    assert!(size(&run) <= before * 3 / 4 && is_paired(run.turns()));
}

#[test]
fn rejected_file_is_left_out_and_the_run_goes_on() {
    let mut run = new_loop(60);
    let image = || ToolContent::Image {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let shows = |name: &str| match output(1) {
        Input::Tools(mut outcomes) => {
            outcomes[0].content = vec![ToolContent::Text { text: name.into() }, image()];
            Input::Tools(outcomes)
        }
        other => other,
    };
    for name in ["oldest", "old", "good", "bad"] {
        play(&mut run, [asks(&["read_file"]), shows(name)]);
    }
    let images = |run: &Loop| {
        let said: Vec<String> = run.turns().iter().map(|turn| format!("{turn:?}")).collect();
        (
            said.concat().matches("data: \"AAAA\"").count(),
            said.concat().contains("image/png) was here"),
        )
    };
    assert_eq!(images(&run), (4, false));
    let actions = run.step(Input::FileRejected("cannot read it".into()), START);
    assert_eq!(notes(&actions), [NoteKind::Compacted]);
    assert!(
        format!("{actions:?}").contains("1 file(s) were left out: cannot read it"),
        "{actions:?}"
    );
    assert!(is_call(&actions, Purpose::Answer) && is_paired(run.turns()));
    assert_eq!(
        images(&run),
        (3, true),
        "the newest alone was not accepted before"
    );
    for (left, why) in [(2, "one by one"), (0, "the run does not try every file")] {
        run.step(Input::FileRejected("cannot read it".into()), START);
        assert_eq!(images(&run), (left, true), "{why}");
    }
    let actions = run.step(Input::FileRejected("cannot read it".into()), START);
    assert_eq!(
        (status(&actions), answer(&actions)),
        (RunStatus::Failed, "cannot read it")
    );
}

#[test]
fn oversized_files_are_left_out_before_the_run_fails() {
    let mut request = Turn::text(Role::User, REQUEST);
    request.parts.push(Part::Document {
        media_type: "application/pdf".into(),
        data: "AAAA".into(),
        name: Some("large.pdf".into()),
    });
    let budget = Budget {
        turns: 60,
        time_ms: 20 * MINUTE,
    };
    let mut run = Loop::new(budget, vec![request], START);
    run.step(Input::Start, START);
    let actions = run.step(Input::ContextTooLong("too large".into()), START);
    assert_eq!(notes(&actions), [NoteKind::Compacted]);
    assert!(is_call(&actions, Purpose::Answer));
    assert!(!format!("{:?}", run.turns()).contains("AAAA"));
    let actions = run.step(Input::ContextTooLong("too large".into()), START);
    assert_eq!(status(&actions), RunStatus::Failed);
}

#[test]
fn uncuttable_conversation_fails_the_run() {
    let mut run = new_loop(60);
    let actions = play(
        &mut run,
        [Input::Start, Input::ContextTooLong("too long".into())],
    );
    assert_eq!(
        (status(&actions), answer(&actions)),
        (RunStatus::Failed, "too long")
    );
}

#[test]
fn rejections_of_every_size_end_the_run() {
    let mut run = new_loop(60);
    for _ in 0..40 {
        play(&mut run, [asks(&["bash"]), output(FIFTH)]);
    }
    let mut refused = || run.step(Input::ContextTooLong("too long".into()), START);
    for _ in 0..3 {
        assert!(is_call(&refused(), Purpose::Answer));
    }
    assert_eq!(status(&refused()), RunStatus::Failed);
}

#[test]
fn oversized_closing_call_is_cut_and_then_skipped() {
    let mut run = new_loop(1);
    run.step(asks(&["bash"]), START);
    assert!(closing_call(&run.step(output(FIFTH), START)));
    let actions = run.step(Input::ContextTooLong("too long".into()), START);
    assert!(closing_call(&actions));
    let actions = run.step(Input::ContextTooLong("too long".into()), START);
    assert_eq!(status(&actions), RunStatus::Completed);
    assert!(answer(&actions).contains("before a summary could be written"));
}

#[test]
fn stop_or_deadline_during_a_summary_closes() {
    let (mut run, _) = outgrown();
    let actions = play(
        &mut run,
        [Input::SoftStop, says("story", StopReason::EndTurn)],
    );
    assert_eq!(notes(&actions), [NoteKind::Compacted, NoteKind::Stopped]);
    assert!(closing_call(&actions));

    let (mut run, _) = outgrown();
    let actions = run.step(Input::ModelTimedOut, START + 20 * MINUTE);
    assert!(notes(&actions).ends_with(&[NoteKind::TimeBudgetExhausted]));
    assert!(closing_call(&actions));
}

#[test]
fn message_during_a_summary_follows_it() {
    let (mut run, _) = outgrown();
    run.step(Input::Steered(vec![message(1, "use tabs")]), START);
    let actions = run.step(says("story", StopReason::EndTurn), START);
    assert_eq!(notes(&actions), [NoteKind::Compacted, NoteKind::FollowUp]);
    assert!(texts(run.turns()).ends_with("use tabs"));
}

#[test]
fn long_run_stays_within_its_window() {
    let mut run = limited();
    let mut stored = 1;
    let mut actions = run.step(Input::Start, START);
    let mut summaries = 0;
    for _ in 0..59 {
        if is_call(&actions, Purpose::Compact) {
            summaries += 1;
            actions = run.step(says("the story", StopReason::EndTurn), START);
        }
        assert!(is_call(&actions, Purpose::Answer) && size(&run) <= LIMIT);
        run.step(asks(&["bash"]), START);
        let total = run.position(START).turn_index;
        assert_eq!(run.turns_since(stored).len() as u64, total - stored);
        stored = total;
        actions = run.step(output(FIFTH), START);
    }
    assert!((10..30).contains(&summaries), "{summaries}");
}

#[test]
fn rejected_call_is_not_repeated_after_the_deadline() {
    let mut run = new_loop(60);
    play(&mut run, [asks(&["bash"]), output(FIFTH)]);
    let actions = run.step(
        Input::ContextTooLong("too long".into()),
        START + 20 * MINUTE,
    );
    assert_eq!(notes(&actions), [NoteKind::TimeBudgetExhausted]);
    assert!(closing_call(&actions));
}

#[test]
fn prompt_and_tools_count_before_the_provider_does() {
    let fixed = |fixed_tokens| {
        let context = ContextLimit {
            fixed_tokens,
            ..ContextLimit::new(10_000, 1_000)
        };
        let mut run = new_loop(60).with_limits(Limits {
            context: Some(context),
            ..Limits::default()
        });
        play(&mut run, [Input::Start, asks(&["bash"])]);
        notes(&run.step(output(FIFTH), START))
    };
    assert_eq!(
        (fixed(1_000), fixed(6_500)),
        (vec![], vec![NoteKind::Compacted])
    );
}

#[test]
fn failed_summary_is_not_retried_at_every_step() {
    let (mut run, _) = outgrown();
    let mut asked_for = Vec::new();
    let mut actions = run.step(asks(&["bash"]), START);
    for step in 0..20 {
        if is_call(&actions, Purpose::Compact) {
            asked_for.push(step);
            actions = run.step(asks(&["bash"]), START);
        }
        assert!(is_call(&actions, Purpose::Answer));
        run.step(asks(&["bash"]), START);
        actions = run.step(output(FIFTH), START);
    }
    assert!(
        (1..=2).contains(&asked_for.len()) && asked_for[0] >= 7,
        "{asked_for:?}"
    );
}
