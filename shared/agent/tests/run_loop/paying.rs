//! A run's cost and cap.

use ars_agent::{
    Action, Input, Limits, Loop, Purpose, StopReason, Usage,
    context::ContextLimit,
    money::{MoneyCap, Price},
};
use ars_events::NoteKind;
use ars_types::RunStatus;

use crate::support::{
    START, answer, asks, closing_call, is_call, message, new_loop, notes, output, play, says,
    status, used,
};

/// A dollar per million tokens of any kind: a token is a micro-dollar.
const PRICE: Price = Price {
    input: 1_000_000,
    output: 1_000_000,
    cache_read: 1_000_000,
    cache_write: 1_000_000,
};
/// The least cost for a call in these small conversations is a little more than this.
const CALL: u64 = 256;

fn capped(cap: u64, price: Option<Price>) -> Loop {
    let cap = Some(MoneyCap { run_microusd: cap });
    new_loop(60).with_limits(Limits {
        cap,
        price,
        context: None,
    })
}

fn costing(input: Input, tokens: u64) -> Input {
    used(
        input,
        Usage {
            output_tokens: tokens,
            ..Usage::default()
        },
    )
}

#[test]
fn the_cost_of_all_calls_adds_up() {
    let mut run = new_loop(8).with_limits(Limits {
        price: Some(PRICE),
        ..Limits::default()
    });
    assert_eq!(run.cost(), Some(0));
    play(&mut run, [costing(asks(&["bash"]), 700), output(1)]);
    run.step(costing(says("done", StopReason::EndTurn), 50), START);
    assert_eq!(run.cost(), Some(750));
}

#[test]
fn unknown_cost_is_not_shown_as_zero() {
    let mut run = new_loop(8);
    assert_eq!(run.cost(), None);
    run.step(costing(asks(&["bash"]), 700), START);
    assert!(run.switch_model(Some(PRICE), None));
    play(
        &mut run,
        [output(1), costing(says("done", StopReason::EndTurn), 50)],
    );
    assert_eq!(run.cost(), None);
}

#[test]
fn capped_run_without_a_price_makes_no_call() {
    let actions = capped(1_000_000, None).step(Input::Start, START);
    assert_eq!(status(&actions), RunStatus::Failed);
    assert!(answer(&actions).contains("no price is configured"));
}

#[test]
fn capped_run_never_switches_to_an_unpriced_model() {
    let mut run = capped(1_000_000, Some(PRICE));
    assert!(!run.switch_model(None, None));
    assert!(is_call(&run.step(Input::Start, START), Purpose::Answer));
}

#[test]
fn run_closes_while_the_closing_call_is_affordable() {
    let mut run = capped(10_000, Some(PRICE));
    let actions = play(
        &mut run,
        [
            Input::Start,
            costing(asks(&["bash"]), 10_000 - 2 * CALL),
            output(1),
        ],
    );
    assert_eq!(notes(&actions), [NoteKind::MoneyBudgetExhausted]);
    assert!(closing_call(&actions));
    let actions = run.step(says("half of it", StopReason::EndTurn), START);
    assert_eq!(status(&actions), RunStatus::Completed);
    assert_eq!(
        answer(&actions),
        "⚠️ The money cap of $0.01 ended this run.\n\nhalf of it"
    );
}

#[test]
fn spent_run_ends_without_another_call() {
    for spent in [10_000 - CALL, 10_000, 50_000] {
        let mut run = capped(10_000, Some(PRICE));
        let actions = play(
            &mut run,
            [Input::Start, costing(asks(&["bash"]), spent), output(1)],
        );
        assert_eq!(notes(&actions), [NoteKind::MoneyBudgetExhausted]);
        assert!(answer(&actions).starts_with("⚠️ The money cap of $0.01"));
        assert!(answer(&actions).contains("before a summary could be written"));
    }
}

#[test]
fn a_cap_below_the_cheapest_call_allows_none() {
    let actions = capped(CALL, Some(PRICE)).step(Input::Start, START);
    assert!(
        answer(&actions).contains("money cap of $0.000256"),
        "{actions:?}"
    );
}

#[test]
fn other_closing_words_must_be_paid_too() {
    let mut run = capped(10_000, Some(PRICE));
    play(
        &mut run,
        [
            Input::Start,
            costing(asks(&["bash"]), 10_000),
            Input::SoftStop,
        ],
    );
    let actions = run.step(output(1), START);
    assert_eq!(
        (notes(&actions), status(&actions)),
        (vec![NoteKind::Stopped], RunStatus::StoppedSoft)
    );
}

#[test]
fn answer_is_final_when_money_is_spent() {
    let mut run = capped(10_000, Some(PRICE));
    play(
        &mut run,
        [Input::Start, Input::Steered(vec![message(1, "more")])],
    );
    let actions = run.step(costing(says("done", StopReason::EndTurn), 9_900), START);
    assert_eq!((answer(&actions), run.unconsumed().len()), ("done", 1));
}

#[test]
fn a_larger_conversation_needs_more_money_left() {
    let mut run = capped(10_000, Some(PRICE));
    play(&mut run, [Input::Start, costing(asks(&["bash"]), 1_000)]);
    assert!(matches!(
        run.clone().step(output(4_000), START).last(),
        Some(Action::CallModel {
            purpose: Purpose::Answer,
            ..
        })
    ));
    assert!(closing_call(&run.step(output(24_000), START)));
}

#[test]
fn unaffordable_message_stays_unread() {
    let mut run = capped(20_000, Some(PRICE));
    run.step(Input::Start, START);
    let document = ars_agent::Part::Document {
        media_type: "application/pdf".into(),
        data: "A".into(),
        name: None,
    };
    let message = ars_agent::Steered {
        attachments: vec![document],
        ..message(1, "read this")
    };
    run.step(Input::Steered(vec![message]), START);
    assert_eq!(
        answer(&run.step(says("done", StopReason::EndTurn), START)),
        "done"
    );
    assert_eq!(run.unconsumed().len(), 1);
}

#[test]
fn summary_must_leave_money_for_a_step() {
    let outgrown = |cap| {
        let context = Some(ContextLimit::new(10_000, 1_000));
        let cap = Some(MoneyCap { run_microusd: cap });
        let mut run = new_loop(60).with_limits(Limits {
            context,
            cap,
            price: Some(PRICE),
        });
        run.step(Input::Start, START);
        for _ in 0..4 {
            run.step(asks(&["bash"]), START);
            assert!(is_call(&run.step(output(5_600), START), Purpose::Answer));
        }
        run.step(asks(&["bash"]), START);
        run.step(output(5_600), START)
    };
    assert!(is_call(&outgrown(40_000), Purpose::Compact));
    // The cap pays for two calls with 7,000 tokens, but not for three.
    let actions = outgrown(18_000);
    assert_eq!(notes(&actions), [NoteKind::Compacted]);
    assert!(is_call(&actions, Purpose::Answer));
}

#[test]
fn call_without_answer_is_estimated() {
    let context = Some(ContextLimit {
        fixed_tokens: 500,
        ..ContextLimit::new(10_000, 1_000)
    });
    let mut run = new_loop(8).with_limits(Limits {
        price: Some(PRICE),
        context,
        cap: None,
    });
    assert!(is_call(&run.step(Input::Start, START), Purpose::Answer));
    let sent = run.sent_usage();
    assert!(
        sent.input_tokens > 500 && sent.output_tokens == 0,
        "{sent:?}"
    );
    run.charge(sent);
    assert_eq!(run.cost(), Some(sent.input_tokens));
    assert_eq!(run.steps(), 0);
}
