//! A run that another process resumes from the stored state.

use ars_agent::{
    Input, Limits, Loop, Position, Saved,
    context::ContextLimit,
    money::{MoneyCap, Price},
};
use ars_events::NoteKind;
use ars_wire::ledger::StepRecord;
use serde_json::{Map, json};

use crate::support::{MINUTE, START, asks, message, new_loop, notes, output, play};

const PRICE: Price = Price {
    input: 1_000_000,
    output: 1_000_000,
    cache_read: 1_000_000,
    cache_write: 1_000_000,
};

/// Takes a run's stored state, and returns the loop that a process restores from it at `now`.
fn carried_on(run: &Loop, stored_at: i64, now: i64) -> Loop {
    let at = run.position(stored_at);
    let mut extra = Map::new();
    run.saved().store(&mut extra);
    let record = StepRecord {
        step: at.step,
        seq: 1,
        turn_index: at.turn_index,
        in_flight: vec![],
        inbox_consumed_seq: at.inbox_consumed_seq,
        remaining_ms: at.remaining_ms,
        turn: at.turn,
        iteration: at.iteration,
        extra,
    };
    let text = serde_json::to_string(&record).unwrap();
    let read: StepRecord = serde_json::from_str(&text).unwrap();
    let saved = Saved::from_record(&read).unwrap();
    assert_eq!((&saved, Position::from(&read)), (&run.saved(), at));
    Loop::resume(
        saved,
        Position::from(&read),
        run.turns_since(0).to_vec(),
        now,
    )
}

#[test]
fn the_stored_form_of_a_loop_is_pinned() {
    let limits = Limits {
        context: Some(ContextLimit::new(10_000, 1_000)),
        price: Some(PRICE),
        cap: Some(MoneyCap { run_microusd: 5 }),
    };
    let saved = new_loop(8).with_limits(limits).saved();
    let text = serde_json::to_string(&saved).unwrap();
    assert_eq!(
        text,
        r#"{"budget":{"turns":8,"time_ms":1200000},"limits":{"context":{"windowTokens":10000,"sharePercent":80,"maxOutputTokens":1000,"fixedTokens":0},"price":{"input":1000000,"output":1000000,"cacheRead":1000000,"cacheWrite":1000000},"cap":{"runMicrousd":5}},"infra":{"streak":0,"lastError":""},"warned":false,"softStop":false,"usage":{"inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0},"spent":{"microusd":0,"isPartial":false},"shape":{"from":0,"request":0,"keptFrom":1,"trimmedTo":0}}"#
    );
    assert_eq!(serde_json::from_str::<Saved>(&text).unwrap(), saved);
}

#[test]
fn incompatible_record_yields_no_loop() {
    let record = |extra: serde_json::Value| -> StepRecord {
        let mut record = json!({ "step": 1, "seq": 1, "turnIndex": 1, "inFlight": [], "inboxConsumedSeq": 0,
            "remainingMs": 1, "turn": 1, "iteration": 1 });
        record
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        serde_json::from_value(record).unwrap()
    };
    assert_eq!(Saved::from_record(&record(json!({}))), None);
    assert_eq!(
        Saved::from_record(&record(json!({ "loop": { "budget": 3 } }))),
        None
    );
}

#[test]
fn remaining_time_continues_on_the_new_clock() {
    let mut run = new_loop(60);
    run.step(asks(&["bash"]), START);
    let later = START + 500 * MINUTE;
    let mut resumed = carried_on(&run, START + 15 * MINUTE, later);
    assert_eq!(resumed.remaining_ms(later), 5 * MINUTE);
    let actions = resumed.step(output(1), later + 3 * MINUTE);
    assert_eq!(notes(&actions), [NoteKind::WrapUp]);
    let mut again = carried_on(&resumed, later + 3 * MINUTE, START);
    assert_eq!(notes(&again.step(Input::Start, START)), []);
}

#[test]
fn step_record_has_no_file_content() {
    let data = "A".repeat(100);
    let image = ars_agent::Part::Image {
        media_type: "image/png".into(),
        data: data.clone(),
    };
    let mut run = new_loop(8);
    let look = ars_agent::Steered {
        seq: None,
        attachments: vec![ars_agent::Part::text("label"), image],
        ..message(0, "look")
    };
    run.step(Input::Steered(vec![look]), START);
    let resumed = carried_on(&run, START, START);
    let saved = serde_json::to_string(resumed.unconsumed()).unwrap();
    assert!(!saved.contains(&data), "{saved}");
    assert!(
        saved.contains("label") && saved.contains("image/png"),
        "{saved}"
    );
}

#[test]
fn messages_survive_a_resume() {
    let mut run = new_loop(8);
    play(
        &mut run,
        [Input::Steered(vec![message(1, "read")]), Input::Start],
    );
    let volatile = ars_agent::Steered {
        seq: None,
        ..message(0, "volatile")
    };
    play(
        &mut run,
        [
            Input::Steered(vec![volatile.clone(), message(2, "durable")]),
            asks(&["bash"]),
        ],
    );
    let mut resumed = carried_on(&run, START, START);
    assert_eq!(
        (resumed.inbox_consumed_seq(), resumed.unconsumed()),
        (1, &[volatile][..])
    );
    resumed.step(
        Input::Steered(vec![message(1, "read"), message(2, "durable")]),
        START,
    );
    let actions = resumed.step(output(1), START);
    assert_eq!(crate::support::inputs(&actions), ["volatile", "durable"]);
    assert_eq!(resumed.inbox_consumed_seq(), 2);
}
