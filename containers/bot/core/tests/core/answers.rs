//! The form of answers: emphasis and blocks.

use ars_bot_core::Capabilities;
use ars_bot_ports::ModelErrorKind;
use ars_types::RunStatus;
use serde_json::{Value, json};

use crate::support::*;

const BLOCKS: &str = r#"{"blocks": [{"type": "heading", "text": "Result"}, {"type": "status", "state": "ok", "text": "*done*"}]}"#;
const MARKDOWN: &str = "## Result\n\n✅ **done**";

/// Returns the answer's event.
fn answer(world: &World) -> (Value, Value) {
    let record = world.last_record();
    let mut answers = record
        .events
        .iter()
        .filter(|event| event["type"] == "answer");
    let answer = answers.next().unwrap();
    (answer["text"].clone(), answer["raw"].clone())
}

async fn asked(moves: Vec<Move>, is_structured: bool) -> (World, String) {
    let world = world_of(moves, Capabilities::default(), |mut settings| {
        settings.structured_output = is_structured;
        settings
    });
    let io = world.ask("please").await;
    world.settle().await;
    let reply = io.said().pop().unwrap();
    (world, reply)
}

#[tokio::test]
async fn emphasis_is_canonical_wherever_the_answer_goes() {
    let (world, reply) = asked(vec![Move::Say("*Done*, _all_ of it")], false).await;
    let expected = "**Done**, _all_ of it";
    assert_eq!(reply, expected);
    let raw = "*Done*, _all_ of it";
    assert_eq!(answer(&world), (json!(expected), json!(raw)));
    let (world, _) = asked(vec![Move::Say("**Done**")], false).await;
    assert_eq!(answer(&world), (json!("**Done**"), Value::Null));
}

#[tokio::test]
async fn answer_in_blocks_becomes_markdown() {
    let (world, reply) = asked(vec![Move::Say(BLOCKS)], true).await;
    assert_eq!(reply, MARKDOWN);
    assert_eq!(answer(&world), (json!(MARKDOWN), json!(BLOCKS)));
    let system = world.model.system.lock().unwrap();
    assert!(system.ends_with(ars_answers::INSTRUCTIONS), "{system}");
}

#[tokio::test]
async fn model_is_asked_twice_for_blocks() {
    let (world, reply) = asked(
        vec![Move::Say("no"), Move::Say("{}"), Move::Say(BLOCKS)],
        true,
    )
    .await;
    assert_eq!(reply, MARKDOWN);
    let request = format!("{:?}", world.model.seen.lock().unwrap()[1].last());
    assert!(request.contains(ars_answers::REASK), "{request}");
    let kinds = outline(&world.last_record());
    let rejected = kinds.iter().filter(|kind| *kind == "assistant");
    assert_eq!(rejected.count(), 2, "{kinds:?}");
    // Then the text is the answer.
    let moves = ["no", "never", "*no*"].map(Move::Say).into();
    let (world, reply) = asked(moves, true).await;
    assert_eq!(reply, "**no**");
    assert_eq!(world.model.seen.lock().unwrap().len(), 3);
}

/// A good answer is not lost over the form.
#[tokio::test]
async fn answer_survives_a_failed_second_question() {
    let moves = vec![Move::Say("fixed it"), Move::Fail(ModelErrorKind::Invalid)];
    let (world, reply) = asked(moves, true).await;
    assert_eq!(reply, "fixed it");
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

/// Blocks are text by default.
#[tokio::test]
async fn blocks_are_text_by_default() {
    let (world, reply) = asked(vec![Move::Say(r#"{"blocks": []}"#)], false).await;
    assert_eq!(reply, r#"{"blocks": []}"#);
    assert!(!world.model.system.lock().unwrap().contains("blocks"));
}
