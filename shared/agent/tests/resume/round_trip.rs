//! Conversations there and back.

use ars_agent::{
    Part, Role, ToolContent, Turn,
    resume::{Gap, assemble, encode, pack},
};
use ars_wire::transcript::{Attachment, Part as Row, Transcript};
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value};

/// Larger than any data in a row.
const LARGE: usize = 1_000_001;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => vec(any::<char>(), 0..12).prop_map(String::from_iter),
        1 => Just(r#"{"dataRef":"t0p0"}"#.to_owned()),
        1 => Just("\u{0}\u{2028}\"\\\r\n😀e\u{301}".to_owned()),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no other", |number| number.is_finite())
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn fields() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), json()), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn data() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => "[A-Za-z0-9+/]{0,8}",
        1 => (LARGE..LARGE + 3).prop_map(|length| "A".repeat(length)),
    ]
}

fn piece() -> impl Strategy<Value = ToolContent> {
    prop_oneof![
        text().prop_map(|text| ToolContent::Text { text }),
        (text(), data()).prop_map(|(media_type, data)| ToolContent::Image { media_type, data }),
        (text(), data()).prop_map(|(media_type, data)| ToolContent::Document { media_type, data }),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (text(), fields()).prop_map(|(text, extra)| Part::Text { text, extra }),
        (text(), data()).prop_map(|(media_type, data)| Part::Image { media_type, data }),
        (text(), data(), proptest::option::of(text())).prop_map(|(media_type, data, name)| {
            Part::Document {
                media_type,
                data,
                name,
            }
        }),
        (text(), text(), json(), fields()).prop_map(|(call_id, name, input, extra)| {
            Part::ToolCall {
                call_id,
                name,
                input,
                extra,
            }
        }),
        (text(), any::<bool>(), vec(piece(), 0..4)).prop_map(|(call_id, ok, content)| {
            Part::ToolResult {
                call_id,
                ok,
                content,
            }
        }),
        (text(), json()).prop_map(|(api, block)| Part::Opaque { api, block }),
    ]
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
    vec(
        (role, vec(part(), 0..4)).prop_map(|(role, parts)| Turn { role, parts }),
        0..5,
    )
}

/// Returns everything that writing these turns leaves behind, written in two steps.
fn written(turns: &[Turn], cut: usize) -> Transcript {
    let (before, after) = turns.split_at(cut.min(turns.len()));
    let mut stored = Transcript::default();
    for encoded in [
        encode(0, before, 1).unwrap(),
        encode(before.len() as u64, after, 2).unwrap(),
    ] {
        for batch in pack(encoded) {
            stored.rows.extend(batch.rows);
            stored.attachments.extend(batch.attachments);
        }
    }
    stored
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Every conversation is read back byte for byte, in any row order.
    #[test]
    fn a_conversation_comes_back_as_it_was((turns, order) in (turns(), any::<u64>()), cut in 0_usize..5) {
        let mut stored = written(&turns, cut);
        shuffle(&mut stored.rows, order);
        shuffle(&mut stored.attachments, order);
        let travelled: Transcript = serde_json::from_str(&serde_json::to_string(&stored).unwrap()).unwrap();
        let read = assemble(travelled);
        prop_assert_eq!(&read.gap, &None);
        prop_assert!(read.turns == turns);
        prop_assert!(serde_json::to_string(&read.turns).unwrap() == serde_json::to_string(&turns).unwrap());
    }

    /// The lost row or attachment is named, and the turns before it are returned.
    #[test]
    fn what_was_lost_is_named(turns in turns(), lost in any::<prop::sample::Index>(), order in any::<u64>()) {
        let mut stored = written(&turns, 0);
        let count = stored.rows.len() + stored.attachments.len();
        prop_assume!(count > 0);
        let lost = lost.index(count);
        let (turn, expected) = match lost.checked_sub(stored.rows.len()) {
            Some(lost) => lost_attachment(&stored.attachments.remove(lost)),
            None => lost_row(&stored.rows.remove(lost), &turns),
        };
        shuffle(&mut stored.rows, order);
        let read = assemble(stored);
        prop_assert_eq!(read.gap, expected);
        prop_assert!(read.turns == turns[..turn]);
    }
}

/// Returns the turn that is incomplete without the row, and the gap; a lost last one-row turn
/// leaves no gap.
fn lost_row(row: &Row, turns: &[Turn]) -> (usize, Option<Gap>) {
    let (turn, is_alone) = (row.idx as usize, turns[row.idx as usize].parts.len() <= 1);
    let gap = match () {
        () if !is_alone => Some(Gap::Part {
            turn: row.idx,
            part: row.part,
        }),
        () if turn + 1 < turns.len() => Some(Gap::Turn(row.idx)),
        () => None,
    };
    (turn, gap)
}

fn lost_attachment(attachment: &Attachment) -> (usize, Option<Gap>) {
    let turn: u64 = attachment.name[1..attachment.name.find('p').unwrap()]
        .parse()
        .unwrap();
    (
        turn as usize,
        Some(Gap::Attachment {
            turn,
            name: attachment.name.clone(),
        }),
    )
}

/// Some order, the same for the same seed.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed | 1;
    for last in (1..items.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        items.swap(last, (state >> 33) as usize % (last + 1));
    }
}
