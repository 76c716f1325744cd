//! Tests which part of a conversation the model receives.

use proptest::{collection::vec, prelude::*};
use serde_json::json;

use super::*;
use crate::ToolContent;

fn says(role: Role, chars: usize) -> Turn {
    Turn::text(role, "w".repeat(chars))
}

fn calls(id: usize) -> Turn {
    let part = Part::ToolCall {
        call_id: format!("c{id}"),
        name: "bash".into(),
        input: json!({ "command": "ls" }),
        extra: serde_json::Map::new(),
    };
    Turn {
        role: Role::Assistant,
        parts: vec![part],
    }
}

fn results(id: usize, chars: usize) -> Vec<Part> {
    let content = vec![ToolContent::Text {
        text: "o".repeat(chars),
    }];
    vec![Part::ToolResult {
        call_id: format!("c{id}"),
        ok: true,
        content,
    }]
}

/// Returns a request after `history` exchanges and a step with these outputs: the whole, and the part.
fn after(history: usize, outputs: &[usize]) -> (Vec<Turn>, Conversation) {
    let mut whole = Vec::new();
    for _ in 0..history {
        whole.extend([says(Role::User, 400), says(Role::Assistant, 400)]);
    }
    whole.push(Turn::text(Role::User, "the request"));
    let mut conversation = Conversation::new(whole.clone());
    for (id, chars) in outputs.iter().enumerate() {
        whole.push(calls(id));
        conversation.answer(calls(id).parts);
        whole.push(Turn {
            role: Role::User,
            parts: results(id, *chars),
        });
        conversation.results(results(id, *chars));
    }
    (whole, conversation)
}

fn is_request(part: &Part) -> bool {
    *part == Part::text("the request")
}

/// Every call is followed by a turn with the result, and every result is preceded by the call.
fn is_paired(turns: &[Turn]) -> bool {
    let called = |turn: Option<&Turn>| -> Vec<String> {
        let parts = turn.into_iter().flat_map(|turn| &turn.parts);
        let ids = parts.filter_map(|part| match part {
            Part::ToolCall { call_id, .. } => Some(call_id.clone()),
            _ => None,
        });
        ids.collect()
    };
    let answered = |turn: Option<&Turn>| -> Vec<String> {
        let parts = turn.into_iter().flat_map(|turn| &turn.parts);
        let ids = parts.filter_map(|part| match part {
            Part::ToolResult { call_id, .. } => Some(call_id.clone()),
            _ => None,
        });
        ids.collect()
    };
    answered(turns.first()).is_empty()
        && (0..turns.len()).all(|at| called(turns.get(at)) == answered(turns.get(at + 1)))
}

#[test]
fn resumed_conversation_lacks_the_same_files() {
    let image = || Part::Image {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let (mut whole, _) = after(1, &[]);
    whole.last_mut().unwrap().parts.push(image());
    let mut conversation = Conversation::new(whole.clone());
    whole.push(calls(0));
    conversation.answer(calls(0).parts);
    whole.push(Turn {
        role: Role::User,
        parts: [results(0, 9), vec![image()]].concat(),
    });
    conversation.results(whole.last().unwrap().parts.clone());
    for left in [1, 1, 0] {
        assert_eq!(conversation.leave_out_files(1), left);
        let resumed = Conversation::restore(whole.clone(), conversation.shape().clone());
        assert_eq!(resumed.shown(), conversation.shown());
    }
}

#[test]
fn order_of_dropped_files_and_outputs_does_not_matter() {
    let image = || ToolContent::Image {
        media_type: "image/png".into(),
        data: "A".repeat(9_000),
    };
    let steered = || Part::Image {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    for first_trimmed in [true, false] {
        let (mut whole, _) = after(1, &[]);
        let mut conversation = Conversation::new(whole.clone());
        let shown = Part::ToolResult {
            call_id: "c0".into(),
            ok: true,
            content: vec![image()],
        };
        for turn in [
            calls(0),
            Turn {
                role: Role::User,
                parts: vec![shown, steered()],
            },
        ] {
            match turn.role {
                Role::User => conversation.results(turn.parts.clone()),
                Role::Assistant => conversation.answer(turn.parts.clone()),
            };
            whole.push(turn);
        }
        for trims in [first_trimmed, !first_trimmed] {
            if trims {
                conversation.trim(0)
            } else {
                conversation.leave_out_files(1)
            };
        }
        let said = format!("{:?}", conversation.shown());
        assert!(
            said.contains("0 characters and 1 file(s), was") && said.contains("png) was here"),
            "{said}"
        );
        let resumed = Conversation::restore(whole, conversation.shape().clone());
        assert_eq!(resumed.shown(), conversation.shown());
    }
}

#[test]
fn summary_replaces_all_but_request_and_newest_turns() {
    let (whole, mut conversation) = after(1, &[4_000, 4_000, 400, 400]);
    let cut = conversation.cut(2_000).unwrap();
    assert_eq!(conversation.replace(cut, "in short", 2_000), cut - 1);
    let shown = conversation.shown();
    assert_eq!(
        shown[0].parts,
        [Part::text("the request"), framed("in short")]
    );
    assert_eq!(shown[1..], whole[whole.len() - 4..]);
    assert_eq!(conversation.total(), whole.len() as u64);
}

/// The kept part no longer calls that tool, here and after a resume.
#[test]
fn tools_of_summarized_turns_are_known() {
    let (mut whole, _) = after(0, &[4_000, 4_000, 40]);
    for part in whole.iter_mut().take(3).flat_map(|turn| &mut turn.parts) {
        if let Part::ToolCall { name, .. } = part {
            *name = "web_fetch".into();
        }
    }
    let shape = Shape {
        kept_from: 1,
        ..Shape::default()
    };
    let mut conversation = Conversation::restore(whole.clone(), shape);
    conversation.replace(conversation.cut(2_000).unwrap(), "in short", 2_000);
    assert!(!called_tools(conversation.shown()).any(|name| name == "web_fetch"));
    let stored = serde_json::to_string(conversation.shape()).unwrap();
    let resumed = Conversation::restore(whole, serde_json::from_str(&stored).unwrap());
    for conversation in [conversation, resumed] {
        assert!(
            conversation.tools().contains("web_fetch"),
            "{:?}",
            conversation.tools()
        );
    }
}

#[test]
fn second_summary_replaces_the_first() {
    let (_, mut conversation) = after(0, &[4_000, 4_000, 40]);
    conversation.replace(conversation.cut(2_000).unwrap(), "first", 2_000);
    for id in 3..6 {
        conversation.answer(calls(id).parts);
        conversation.results(results(id, 3_000));
    }
    conversation.replace(conversation.cut(2_000).unwrap(), "second", 2_000);
    assert_eq!(
        conversation.shown()[0].parts,
        [Part::text("the request"), framed("second")]
    );
    assert_eq!(conversation.total(), 13);
}

#[test]
fn newest_calls_are_kept_at_any_size() {
    let (whole, conversation) = after(0, &[4_000, 40_000]);
    assert_eq!(conversation.cut(2_000), Some(whole.len() - 2));
}

#[test]
fn small_gain_needs_no_summary() {
    assert_eq!(after(0, &[40_000]).1.cut(2_000), None);
    assert_eq!(after(0, &[]).1.cut(2_000), None);
    assert_eq!(after(0, &[40, 40_000]).1.cut(2_000), None);
}

#[test]
fn history_is_summarized_before_the_first_step() {
    let (_, mut conversation) = after(4, &[]);
    let cut = conversation.cut(1_000).unwrap();
    assert_eq!(cut, 9);
    conversation.replace(cut, "the thread", 1_000);
    assert_eq!(conversation.shown().len(), 1);
    conversation.add_user_parts(vec![Part::text("and now")]);
    assert_eq!(conversation.shown()[1], Turn::text(Role::User, "and now"));
    assert_eq!(conversation.total(), 10);
}

#[test]
fn a_summary_is_no_longer_than_its_share() {
    let (_, mut conversation) = after(0, &[40_000, 40]);
    conversation.replace(
        conversation.cut(10_000).unwrap(),
        &"s".repeat(100_000),
        10_000,
    );
    let length = |conversation: &Conversation| {
        conversation
            .shape()
            .summary
            .as_ref()
            .unwrap()
            .chars()
            .count()
    };
    assert_eq!(length(&conversation), 8_000);
    let (_, mut conversation) = after(0, &[400_000, 40]);
    conversation.replace(
        conversation.cut(100_000).unwrap(),
        &"s".repeat(100_000),
        100_000,
    );
    assert_eq!(length(&conversation), 16_000);
}

#[test]
fn outputs_are_dropped_before_history() {
    let (_, mut conversation) = after(2, &[8_000, 8_000, 8_000]);
    let size = |conversation: &Conversation| estimate::estimate_turns(conversation.shown());
    let before = size(&conversation);
    assert_eq!(conversation.trim(before - 1_000), 1);
    assert!(format!("{:?}", conversation.shown()[6]).contains("8000 characters, was dropped"));
    assert_eq!(conversation.trim(0), 2 + 4);
    assert!(is_request(&conversation.shown()[0].parts[0]));
    assert_eq!(conversation.trim(0), 0);
    assert_eq!(conversation.total(), 11);
}

#[test]
fn cut_conversation_begins_with_the_user() {
    let (_, mut conversation) = after(2, &[]);
    let size = estimate::estimate_turns(conversation.shown());
    assert_eq!(conversation.trim(size - 1), 2);
    assert_eq!(conversation.shown()[0].role, Role::User);
}

#[test]
fn what_is_stored_does_not_change_any_more() {
    let (whole, mut conversation) = after(0, &[40]);
    conversation.add_user_parts(vec![Part::text("more")]);
    assert_eq!(conversation.shown().len(), whole.len());
    conversation.seal();
    conversation.add_user_parts(vec![Part::text("later")]);
    assert_eq!(conversation.shown().len(), whole.len() + 1);
    conversation.add_user_parts(vec![Part::text("still")]);
    assert_eq!(conversation.since(whole.len() as u64)[0].parts.len(), 2);
}

#[test]
fn what_continues_a_paused_turn_joins_it() {
    let (_, mut conversation) = after(0, &[]);
    conversation.answer(vec![Part::text("a")]);
    conversation.answer(calls(0).parts);
    assert_eq!(
        (
            conversation.shown().len(),
            conversation.shown()[1].parts.len()
        ),
        (2, 2)
    );
}

/// A change to a conversation.
#[derive(Debug, Clone)]
enum Deed {
    Step(usize),
    Tell,
    Compact,
    Trim(u64),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0_usize..6_000).prop_map(Deed::Step),
        1 => Just(Deed::Tell),
        1 => Just(Deed::Compact),
        1 => (0_u64..2_000).prop_map(Deed::Trim),
    ]
}

proptest! {
    /// Calls and results stay paired, the request stays, and the count stays correct.
    /// The newest turns can be stored, and a resume restores the same part.
    #[test]
    fn a_conversation_stays_sound_and_can_be_restored(history in 0_usize..3, deeds in vec(deed(), 1..40)) {
        const LIMIT: u64 = 2_000;
        let (mut whole, mut conversation) = after(history, &[]);
        for (id, deed) in deeds.into_iter().enumerate() {
            match deed {
                Deed::Step(chars) => {
                    conversation.answer(calls(id).parts);
                    whole.extend_from_slice(conversation.since(whole.len() as u64));
                    conversation.seal();
                    conversation.results(results(id, chars));
                }
                Deed::Tell => conversation.add_user_parts(vec![Part::text(format!("told {id}"))]),
                Deed::Compact => {
                    if let Some(cut) = conversation.cut(LIMIT) {
                        prop_assert!(is_paired(&conversation.to_sum_up(cut, "sum up")));
                        conversation.replace(cut, &format!("summary {id}"), LIMIT);
                    }
                }
                Deed::Trim(target) => {
                    conversation.trim(target);
                    let size = estimate::estimate_turns(conversation.shown());
                    prop_assert!(size <= target || conversation.trim(target) == 0);
                }
            }
            prop_assert!(is_paired(conversation.shown()));
            prop_assert!(conversation.shown().iter().flat_map(|turn| &turn.parts).any(is_request));
            prop_assert_eq!(conversation.shown()[0].role, Role::User);
            prop_assert!(conversation.total() >= whole.len() as u64);
            let mut stored = whole.clone();
            stored.extend_from_slice(conversation.since(stored.len() as u64));
            let restored = Conversation::restore(stored, conversation.shape().clone());
            prop_assert_eq!(restored.shown(), conversation.shown());
            prop_assert_eq!(restored.total(), conversation.total());
        }
    }
}
