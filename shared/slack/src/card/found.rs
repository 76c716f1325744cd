//! Cards that Slack returned, of this process or of an earlier one.

use serde_json::{Value, json};

use super::{
    checklist::Mark,
    frame::{CARD_PREFIX, Frame, INTERRUPTED, text},
    glyph::Glyph,
};
use crate::text::escape;

/// Returns whether a message's blocks are a card.
pub fn is_card(blocks: &Value) -> bool {
    card_id(blocks).is_some()
}

/// Returns the run id that a card shows, unchecked.
pub fn run_of_card(blocks: &Value) -> Option<&str> {
    card_id(blocks).filter(|run| !run.is_empty())
}

/// Returns whether a message's blocks are a card that still shows a live run.
pub fn is_live(blocks: &Value) -> bool {
    live_title(blocks).is_some() || is_stream(blocks)
}

/// Returns whether a message's blocks are a stream that got no last frame.
pub fn is_stream(blocks: &Value) -> bool {
    head(blocks).is_none() && task_id(blocks).is_some()
}

/// Returns an interrupted run's card, made from the last frame. `None` unless that is live.
pub fn interrupt(blocks: &Value) -> Option<Frame> {
    let blocks = if is_stream(blocks) {
        interrupt_stream(blocks)?
    } else {
        interrupt_frame(blocks)?
    };
    Some(Frame {
        text: format!("{} {INTERRUPTED}", Glyph::Cross.as_str()),
        blocks,
    })
}

fn interrupt_frame(blocks: &Value) -> Option<Value> {
    let title = live_title(blocks)?;
    let title = format!("{}{title}", Glyph::Cross.as_str());
    let mut kept: Vec<Value> = blocks.as_array()?.clone();
    kept.retain(|block| block["type"] != "actions");
    *kept.first_mut()?.pointer_mut("/text/text")? = title.into();
    let last = kept
        .last_mut()
        .and_then(|body| body.pointer_mut("/elements/0/elements"))
        .and_then(Value::as_array_mut)
        .and_then(|elements| elements.last_mut());
    if let Some(last) = last {
        *last = text(INTERRUPTED);
    }
    Some(Value::Array(kept))
}

/// Returns an abandoned stream's card: title, checklist and the last line.
fn interrupt_stream(blocks: &Value) -> Option<Value> {
    let run = task_id(blocks)?;
    let mut plans = blocks.as_array()?.iter();
    let title = plans.find_map(|block| block["title"].as_str());
    let title = escape(title.unwrap_or_default());
    let mut lines: Vec<String> = tasks(blocks)
        .filter(|task| task["task_id"].as_str() != Some(&format!("{CARD_PREFIX}{run}")))
        .filter_map(|task| {
            let mark = match task["status"].as_str() {
                Some("complete") => Mark::Done,
                _ => Mark::Pending,
            };
            Some(format!("{}{}\n", mark.sign(), task["title"].as_str()?))
        })
        .collect();
    lines.push(INTERRUPTED.to_owned());
    let lines: Vec<Value> = lines.iter().map(|line| text(line)).collect();
    Some(json!([
        {
            "type": "section",
            "block_id": format!("{CARD_PREFIX}{run}"),
            "text": {"type": "mrkdwn", "text": format!("{} {title}", Glyph::Cross.as_str())},
        },
        {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": lines}]},
    ]))
}

fn card_id(blocks: &Value) -> Option<&str> {
    let id = head(blocks).and_then(|head| head["block_id"].as_str());
    id.and_then(|id| id.strip_prefix(CARD_PREFIX))
        .or_else(|| task_id(blocks))
}

/// Returns the block with the card's title, which is behind the plan of an ended stream.
fn head(blocks: &Value) -> Option<&Value> {
    let is_it = |block: &&Value| {
        let id = block["block_id"].as_str();
        id.is_some_and(|id| id.starts_with(CARD_PREFIX))
    };
    blocks.as_array()?.iter().find(is_it)
}

/// Returns the run's id in the id of a stream's task.
fn task_id(blocks: &Value) -> Option<&str> {
    let id = tasks(blocks).find_map(|task| task["task_id"].as_str()?.strip_prefix(CARD_PREFIX))?;
    id.split(':').next()
}

/// Returns a stream's tasks: separate blocks, or parts of a plan.
fn tasks(blocks: &Value) -> impl Iterator<Item = &Value> {
    let blocks = blocks.as_array().into_iter().flatten();
    blocks.flat_map(|block| {
        let parts = block["tasks"].as_array().into_iter().flatten();
        std::iter::once(block).chain(parts)
    })
}

/// Returns the title of a live card without the glyph.
fn live_title(blocks: &Value) -> Option<&str> {
    let title = head(blocks)?["text"]["text"].as_str()?;
    Glyph::LIVE
        .iter()
        .find_map(|glyph| title.strip_prefix(glyph.as_str()))
}

#[cfg(test)]
mod tests {
    use ars_types::RunId;

    use super::*;
    use crate::card::{CardHead, CardOutcome, CardState, frame};

    fn state(run: Option<&str>) -> CardState {
        let head = CardHead {
            run: run.map(|run| RunId::parse(run).unwrap()),
            agent: "coding".into(),
            model: None,
            url: Some("https://x.y/runs/r1".into()),
        };
        CardState::new(head, 0)
    }

    #[test]
    fn own_frames_are_recognized() {
        let mut closed = state(Some("r1"));
        closed.close(CardOutcome::Completed, 0);
        for (state, run, live) in [
            (state(None), None, true),
            (state(Some("r1")), Some("r1"), true),
            (closed, Some("r1"), false),
        ] {
            let blocks = frame(&state, 0).blocks;
            assert!(is_card(&blocks));
            assert_eq!((run_of_card(&blocks), is_live(&blocks)), (run, live));
        }
    }

    #[test]
    fn other_messages_are_no_cards() {
        for blocks in [
            json!(null),
            json!([]),
            json!({}),
            json!([{"block_id": 1}]),
            json!([{"block_id": "x", "text": {"text": ":eyes: *coding* 0s"}}]),
            json!([{"type": "section"}, {"tasks": [{"task_id": "t1"}]}]),
        ] {
            assert!(!is_card(&blocks) && !is_live(&blocks), "{blocks}");
            assert_eq!((run_of_card(&blocks), interrupt(&blocks)), (None, None));
        }
    }

    #[test]
    fn interrupted_card_equals_the_frame_of_its_state() {
        for run in [None, Some("r1")] {
            let mut state = state(run);
            state.status("$ cargo test", 0);
            let found = interrupt(&frame(&state, 0).blocks).unwrap();
            state.interrupted(0);
            assert_eq!(found.blocks, frame(&state, 0).blocks);
            assert!(!is_live(&found.blocks) && interrupt(&found.blocks).is_none());
        }
    }
}
