//! Reads turns from a stored transcript up to the first gap (docs/reference/ledger.md#resume).
//!
//! Rows may come in any order. When two rows claim the same place the later counts, as in the
//! store. Not here: how a gap affects the run (`decide`).

use std::collections::{BTreeMap, HashMap};

use ars_wire::transcript::Transcript;

use super::row::{DATA_REF, DataReference, PartReferences, Read, References, piece_name};
use crate::{Part, ToolContent, Turn, error::Gap};

/// The turns read from a transcript.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Assembled {
    /// The turns before the gap.
    pub turns: Vec<Turn>,
    /// The first missing piece.
    pub gap: Option<Gap>,
    /// The last follow-up in the turns.
    pub inbox_consumed: u64,
}

/// Reads a transcript up to the first gap.
pub fn assemble(transcript: Transcript) -> Assembled {
    let attachments: Attachments = transcript
        .attachments
        .into_iter()
        .map(|attachment| (attachment.name, attachment.data))
        .collect();
    let mut stored: BTreeMap<u64, BTreeMap<u64, String>> = BTreeMap::new();
    for row in transcript.rows {
        stored
            .entry(row.idx)
            .or_default()
            .insert(row.part, row.json);
    }
    let mut assembled = Assembled::default();
    for (expected, (idx, parts)) in (0..).zip(stored) {
        let read = if idx == expected {
            turn(idx, parts, &attachments)
        } else {
            Err(Gap::Turn(expected))
        };
        match read {
            Ok((turn, inbox_consumed)) => {
                assembled.turns.push(turn);
                assembled.inbox_consumed = assembled.inbox_consumed.max(inbox_consumed);
            }
            Err(gap) => {
                assembled.gap = Some(gap);
                break;
            }
        }
    }
    assembled
}

/// Data by attachment name.
type Attachments = HashMap<String, String>;

fn turn(
    idx: u64,
    rows: BTreeMap<u64, String>,
    attachments: &Attachments,
) -> Result<(Turn, u64), Gap> {
    let mut turn: Option<Turn> = None;
    let (mut seen, mut counted, mut inbox_consumed) = (0, 0, 0);
    for (expected, (number, json)) in (0..).zip(rows) {
        if number != expected {
            return Err(Gap::Part {
                turn: idx,
                part: expected,
            });
        }
        let unreadable = || Gap::Unreadable {
            turn: idx,
            part: number,
        };
        let row: Read = serde_json::from_str(&json).map_err(|_| unreadable())?;
        let turn = turn.get_or_insert_with(|| Turn {
            role: row.role,
            parts: Vec::new(),
        });
        if turn.role != row.role {
            return Err(unreadable());
        }
        inbox_consumed = inbox_consumed.max(row.inbox_consumed_seq);
        counted = counted.max(row.parts);
        seen += 1;
        let Some(mut part) = row.part else { continue };
        // Most rows have no reference and are parsed once. A text that mentions the word is parsed twice.
        if holds_data(&part) && json.contains(DATA_REF) {
            let References { part: references } =
                serde_json::from_str(&json).map_err(|_| unreadable())?;
            fill(&mut part, references, attachments)
                .map_err(|name| Gap::Attachment { turn: idx, name })?;
        }
        turn.parts.push(part);
    }
    if seen < counted {
        return Err(Gap::Part {
            turn: idx,
            part: seen,
        });
    }
    turn.map(|turn| (turn, inbox_consumed))
        .ok_or(Gap::Turn(idx))
}

fn holds_data(part: &Part) -> bool {
    match part {
        Part::Image { .. } | Part::Document { .. } | Part::ToolResult { .. } => true,
        Part::Text { .. } | Part::ToolCall { .. } | Part::Opaque { .. } => false,
    }
}

/// Restores data that a part refers to. The error names the missing attachment.
fn fill(
    part: &mut Part,
    references: PartReferences,
    attachments: &Attachments,
) -> Result<(), String> {
    let restore = |data: &mut String, reference: DataReference| {
        let Some(name) = reference.data_ref else {
            return Ok(());
        };
        data.clear();
        let mut read = |name: String| {
            data.push_str(attachments.get(&name).ok_or(name)?);
            Ok(())
        };
        match reference.data_pieces {
            0 => read(name),
            pieces => (0..pieces).try_for_each(|number| read(piece_name(&name, number))),
        }
    };
    match part {
        Part::Image { data, .. } | Part::Document { data, .. } => restore(data, references.data),
        Part::ToolResult { content, .. } => content
            .iter_mut()
            .zip(references.content)
            .try_for_each(|(piece, reference)| match piece {
                ToolContent::Image { data, .. } | ToolContent::Document { data, .. } => {
                    restore(data, reference)
                }
                ToolContent::Text { .. } => Ok(()),
            }),
        Part::Text { .. } | Part::ToolCall { .. } | Part::Opaque { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use ars_wire::transcript::{Attachment, Part as Row};
    use serde_json::json;

    use super::*;
    use crate::{message::Role, resume::encode};

    fn row(idx: u64, part: u64, json: &str) -> Row {
        Row {
            idx,
            part,
            json: json.into(),
        }
    }

    fn text(idx: u64, part: u64) -> Row {
        row(
            idx,
            part,
            r#"{"role":"user","part":{"kind":"text","text":"x"}}"#,
        )
    }

    fn assemble_rows(rows: Vec<Row>, attachments: Vec<Attachment>) -> (usize, Option<Gap>) {
        let assembled = assemble(Transcript { rows, attachments });
        (assembled.turns.len(), assembled.gap)
    }

    #[test]
    fn first_gap_is_named_with_the_turns_before() {
        let unreadable = Some(Gap::Unreadable { turn: 1, part: 0 });
        assert_eq!(assemble_rows(vec![], vec![]), (0, None));
        assert_eq!(
            assemble_rows(vec![text(0, 0), text(1, 0)], vec![]),
            (2, None)
        );
        assert_eq!(
            assemble_rows(vec![text(1, 0)], vec![]),
            (0, Some(Gap::Turn(0)))
        );
        assert_eq!(
            assemble_rows(vec![text(0, 0), text(3, 0)], vec![]),
            (1, Some(Gap::Turn(1)))
        );
        assert_eq!(
            assemble_rows(vec![text(0, 0), text(1, 1)], vec![]),
            (1, Some(Gap::Part { turn: 1, part: 0 }))
        );
        assert_eq!(
            assemble_rows(vec![text(0, 2), text(0, 0), text(2, 1)], vec![]),
            (0, Some(Gap::Part { turn: 0, part: 1 }))
        );
        let counted = r#"{"role":"user","part":{"kind":"text","text":"x"},"parts":3}"#;
        assert_eq!(
            assemble_rows(vec![row(0, 0, counted), text(0, 1), text(1, 0)], vec![]),
            (0, Some(Gap::Part { turn: 0, part: 2 }))
        );
        assert_eq!(
            assemble_rows(vec![text(0, 0), row(1, 0, "{")], vec![]),
            (1, unreadable.clone())
        );
        assert_eq!(
            assemble_rows(vec![text(0, 0), row(1, 0, r#"{"role":"user"}"#)], vec![]),
            (1, unreadable.clone())
        );
        let later = r#"{"role":"user","part":{"kind":"hologram"}}"#;
        assert_eq!(
            assemble_rows(vec![text(0, 0), row(1, 0, later)], vec![]),
            (1, unreadable)
        );
        let other = r#"{"role":"assistant","part":{"kind":"text","text":"x"}}"#;
        let gap = Some(Gap::Unreadable { turn: 0, part: 1 });
        assert_eq!(
            assemble_rows(vec![text(0, 0), row(0, 1, other)], vec![]),
            (0, gap)
        );
    }

    #[test]
    fn missing_attachment_is_a_gap() {
        let part = json!({ "kind": "document", "mediaType": "m", "data": "", "dataRef": "t1p0", "name": "n" });
        let result = json!({ "kind": "tool_result", "callId": "c", "ok": true, "content": [
            { "kind": "text", "text": "dataRef" }, { "kind": "image", "mediaType": "m", "data": "", "dataRef": "t1p1c1" } ] });
        let row_of = |part: u64, value| {
            row(
                1,
                part,
                &serde_json::to_string(&json!({ "role": "user", "part": value })).unwrap(),
            )
        };
        let rows = vec![text(0, 0), row_of(0, part), row_of(1, result)];
        let named = |name: &str| Attachment {
            name: name.into(),
            media_type: "m".into(),
            data: format!("<{name}>"),
        };
        let gap = |name: &str| {
            Some(Gap::Attachment {
                turn: 1,
                name: name.into(),
            })
        };
        assert_eq!(
            assemble_rows(rows.clone(), vec![named("t1p0")]),
            (1, gap("t1p1c1"))
        );
        assert_eq!(
            assemble_rows(rows.clone(), vec![named("t1p1c1")]),
            (1, gap("t1p0"))
        );

        let whole = assemble(Transcript {
            rows,
            attachments: vec![named("t1p1c1"), named("t1p0")],
        });
        assert_eq!(whole.gap, None);
        let Part::Document { data, .. } = &whole.turns[1].parts[0] else {
            panic!("a document")
        };
        assert_eq!(data, "<t1p0>");
        let Part::ToolResult { content, .. } = &whole.turns[1].parts[1] else {
            panic!("a result")
        };
        assert_eq!(
            content[1],
            ToolContent::Image {
                media_type: "m".into(),
                data: "<t1p1c1>".into()
            }
        );
    }

    #[test]
    fn pieces_are_joined_in_order() {
        let large = Part::Image {
            media_type: "image/png".into(),
            data: "ABCD".repeat(800_000),
        };
        let turn = Turn {
            role: Role::User,
            parts: vec![large],
        };
        let encoded = encode(0, std::slice::from_ref(&turn), 0).unwrap();
        let read = |attachments: Vec<Attachment>| {
            assemble(Transcript {
                rows: encoded.rows.clone(),
                attachments,
            })
        };
        let (mut pieces, turns) = (encoded.attachments.clone(), vec![turn]);
        pieces.reverse();
        assert!(read(pieces.clone()).turns == turns && pieces.len() == 3);
        let name = pieces.remove(1).name;
        assert_eq!(read(pieces).gap, Some(Gap::Attachment { turn: 0, name }));
    }

    #[test]
    fn last_follow_up_of_whole_turns_is_read() {
        let turns = [
            Turn::text(Role::User, "a"),
            Turn::text(Role::Assistant, "b"),
        ];
        let mut rows = encode(0, &turns, 3).unwrap().rows;
        rows.extend(encode(2, &turns, 5).unwrap().rows);
        let inbox = |rows: &[Row]| {
            assemble(Transcript {
                rows: rows.to_vec(),
                attachments: vec![],
            })
            .inbox_consumed
        };
        assert_eq!(
            (inbox(&rows), inbox(&rows[..3]), inbox(&rows[..1])),
            (5, 3, 0)
        );
        rows.remove(2);
        assert_eq!(inbox(&rows), 3);
    }
}
