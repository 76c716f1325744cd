//! Turns as transcript rows and attachments (docs/reference/ledger.md#transcript).
//!
//! A part that is too large is rejected and never cut, because a shortened conversation would look whole to a resume.
//! Not here: the distribution over requests (`pack`).

use ars_wire::transcript::{Attachment, Part as Row};
use serde::Serialize;
use serde_json::Value;

use super::{
    pack::REQUEST_BYTES,
    row::{DATA_PIECES, DATA_REF, Marks, Written, piece_name, size},
};
use crate::{Part, Role, ToolContent, Turn, error::EncodeError};

/// Base64 characters above which data becomes an attachment.
const INLINE_CHARS: usize = 1_000_000;
/// Characters of a piece of data that does not fit in one request, and so in one stored row.
const PIECE_CHARS: usize = 1_500_000;
/// Maximum size of a row's JSON in bytes.
const MAX_ROW: usize = 1_500_000;

/// Turns in wire form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Rows in conversation order.
    pub rows: Vec<Row>,
    /// Attachments that the rows refer to.
    pub attachments: Vec<Attachment>,
}

/// Encodes `turns`, which start at turn `first` of the run's conversation.
///
/// Turns are numbered from the run's start, also behind a compaction. `inbox_consumed` is the last
/// follow-up in these turns or earlier turns.
pub fn encode(first: u64, turns: &[Turn], inbox_consumed: u64) -> Result<Encoded, EncodeError> {
    let mut encoded = Encoded::default();
    let last = turns.len().saturating_sub(1);
    for (offset, turn) in turns.iter().enumerate() {
        let consumed = if offset == last { inbox_consumed } else { 0 };
        encoded.turn(first + offset as u64, turn, consumed)?;
    }
    Ok(encoded)
}

impl Encoded {
    fn turn(&mut self, idx: u64, turn: &Turn, inbox_consumed: u64) -> Result<(), EncodeError> {
        let count = turn.parts.len();
        let marks = |number: usize| Marks {
            parts: if number == 0 && count > 1 {
                count as u64
            } else {
                0
            },
            inbox_consumed_seq: if number + 1 >= count {
                inbox_consumed
            } else {
                0
            },
        };
        if turn.parts.is_empty() {
            let written = Written {
                role: turn.role,
                part: None::<&Part>,
                marks: marks(0),
            };
            return self.row((idx, 0), &written);
        }
        for (number, part) in turn.parts.iter().enumerate() {
            self.part((idx, number as u64), turn.role, part, marks(number))?;
        }
        Ok(())
    }

    fn part(
        &mut self,
        place: (u64, u64),
        role: Role,
        part: &Part,
        marks: Marks,
    ) -> Result<(), EncodeError> {
        let name = format!("t{}p{}", place.0, place.1);
        match part {
            Part::Image { media_type, data }
            | Part::Document {
                media_type, data, ..
            } if is_large(data) => {
                let mut light = emptied(part);
                let reference = self.attach(name, media_type, data)?;
                reference.add_to(&mut light, "");
                self.row(
                    place,
                    &Written {
                        role,
                        part: Some(light),
                        marks,
                    },
                )
            }
            Part::ToolResult { content, .. }
                if content.iter().any(|piece| large(piece).is_some()) =>
            {
                let mut light = emptied(part);
                for (number, piece) in content.iter().enumerate() {
                    let Some((media_type, data)) = large(piece) else {
                        continue;
                    };
                    let reference = self.attach(format!("{name}c{number}"), media_type, data)?;
                    reference.add_to(&mut light, &format!("/content/{number}"));
                }
                self.row(
                    place,
                    &Written {
                        role,
                        part: Some(light),
                        marks,
                    },
                )
            }
            Part::Text { .. }
            | Part::Image { .. }
            | Part::Document { .. }
            | Part::ToolCall { .. }
            | Part::ToolResult { .. }
            | Part::Opaque { .. } => self.row(
                place,
                &Written {
                    role,
                    part: Some(part),
                    marks,
                },
            ),
        }
    }

    fn row<P: Serialize>(
        &mut self,
        (turn, part): (u64, u64),
        written: &Written<P>,
    ) -> Result<(), EncodeError> {
        let too_large = |bytes| EncodeError::PartTooLarge { turn, part, bytes };
        // Only a map with keys other than strings could fail, and a part has none.
        let json = serde_json::to_string(written).map_err(|_| too_large(usize::MAX))?;
        if json.len() > MAX_ROW {
            return Err(too_large(json.len()));
        }
        let row = Row {
            idx: turn,
            part,
            json,
        };
        // A row is JSON text within a request's JSON, so it is escaped twice.
        let travelling = size(&row);
        if travelling > REQUEST_BYTES {
            return Err(too_large(travelling));
        }
        self.rows.push(row);
        Ok(())
    }

    /// Adds data as an attachment, or as several when it exceeds a request.
    fn attach(
        &mut self,
        name: String,
        media_type: &str,
        data: &str,
    ) -> Result<Reference, EncodeError> {
        let attachment = |name: &str, data: &str| Attachment {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            data: data.to_owned(),
        };
        let whole = attachment(&name, data);
        if size(&whole) <= REQUEST_BYTES {
            self.attachments.push(whole);
            return Ok(Reference { name, pieces: 0 });
        }
        let pieces = data.as_bytes().chunks(PIECE_CHARS);
        let reference = Reference {
            pieces: pieces.len() as u64,
            name,
        };
        for (number, piece) in (0..).zip(pieces) {
            let name = piece_name(&reference.name, number);
            // Base64 is ASCII. Anything else could not be read again.
            let piece = str::from_utf8(piece).unwrap_or_default();
            let piece = attachment(&name, piece);
            let bytes = size(&piece);
            if piece.data.is_empty() || bytes > REQUEST_BYTES {
                return Err(EncodeError::AttachmentTooLarge { name, bytes });
            }
            self.attachments.push(piece);
        }
        Ok(reference)
    }
}

/// Where a part's data is.
struct Reference {
    name: String,
    /// Number of pieces; 0 for data in one attachment.
    pieces: u64,
}

impl Reference {
    /// Adds the reference to the object at this JSON pointer.
    ///
    /// No attachment has the name of data in pieces, so an older reader finds a gap there.
    fn add_to(self, part: &mut Value, pointer: &str) {
        if let Some(Value::Object(fields)) = part.pointer_mut(pointer) {
            fields.insert(DATA_REF.to_owned(), Value::from(self.name));
            if self.pieces > 0 {
                fields.insert(DATA_PIECES.to_owned(), Value::from(self.pieces));
            }
        }
    }
}

fn is_large(data: &str) -> bool {
    data.len() > INLINE_CHARS
}

fn large(piece: &ToolContent) -> Option<(&str, &str)> {
    match piece {
        ToolContent::Image { media_type, data } | ToolContent::Document { media_type, data } => {
            is_large(data).then_some((media_type, data))
        }
        ToolContent::Text { .. } => None,
    }
}

/// Returns the part as JSON without large data.
fn emptied(part: &Part) -> Value {
    let mut light = part.clone();
    match &mut light {
        Part::Image { data, .. } | Part::Document { data, .. } => data.clear(),
        Part::ToolResult { content, .. } => content.iter_mut().for_each(|piece| match piece {
            ToolContent::Image { data, .. } | ToolContent::Document { data, .. }
                if is_large(data) =>
            {
                data.clear();
            }
            ToolContent::Image { .. } | ToolContent::Document { .. } | ToolContent::Text { .. } => {
            }
        }),
        Part::Text { .. } | Part::ToolCall { .. } | Part::Opaque { .. } => {}
    }
    serde_json::to_value(light).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(chars: usize) -> Part {
        Part::Image {
            media_type: "image/png".into(),
            data: "A".repeat(chars),
        }
    }

    fn encoded(parts: Vec<Part>) -> Result<Encoded, EncodeError> {
        encode(
            4,
            &[Turn {
                role: Role::User,
                parts,
            }],
            0,
        )
    }

    #[test]
    fn the_text_of_a_row_is_pinned() {
        let two = Turn {
            role: Role::User,
            parts: vec![Part::text("hi"), Part::text("ho")],
        };
        let encoded = encode(
            2,
            &[
                two,
                Turn {
                    role: Role::Assistant,
                    parts: vec![],
                },
            ],
            7,
        )
        .unwrap();
        let row = |idx, part, json: &str| Row {
            idx,
            part,
            json: json.into(),
        };
        assert_eq!(
            encoded.rows,
            [
                row(
                    2,
                    0,
                    r#"{"role":"user","part":{"kind":"text","text":"hi"},"parts":2}"#
                ),
                row(
                    2,
                    1,
                    r#"{"role":"user","part":{"kind":"text","text":"ho"}}"#
                ),
                row(
                    3,
                    0,
                    r#"{"role":"assistant","part":null,"inboxConsumedSeq":7}"#
                ),
            ]
        );
    }

    #[test]
    fn data_above_a_million_characters_is_an_attachment() {
        assert!(
            encoded(vec![image(INLINE_CHARS)])
                .unwrap()
                .attachments
                .is_empty()
        );
        let encoded = encoded(vec![Part::text("look"), image(INLINE_CHARS + 1)]).unwrap();
        assert_eq!(encoded.attachments[0].name, "t4p1");
        assert_eq!(encoded.attachments[0].data.len(), INLINE_CHARS + 1);
        assert_eq!(
            encoded.rows[1].json,
            r#"{"role":"user","part":{"kind":"image","mediaType":"image/png","data":"","dataRef":"t4p1"}}"#
        );
    }

    #[test]
    fn large_pieces_of_a_result_have_distinct_names() {
        let piece = |chars: usize| ToolContent::Document {
            media_type: "application/pdf".into(),
            data: "A".repeat(chars),
        };
        let content = vec![
            piece(INLINE_CHARS + 1),
            ToolContent::Text { text: "x".into() },
            piece(5),
            piece(1_000_002),
        ];
        let part = Part::ToolResult {
            call_id: "c".into(),
            ok: true,
            content,
        };
        let encoded = encoded(vec![part]).unwrap();
        let names: Vec<_> = encoded
            .attachments
            .iter()
            .map(|attachment| attachment.name.as_str())
            .collect();
        assert_eq!(names, ["t4p0c0", "t4p0c3"]);
        assert!(encoded.rows[0].json.contains(r#""data":"AAAAA"}"#));
    }

    #[test]
    fn oversized_part_is_rejected_with_its_place() {
        let refused = encoded(vec![Part::text("x"), Part::text("y".repeat(MAX_ROW))]).unwrap_err();
        assert!(
            matches!(refused, EncodeError::PartTooLarge { turn: 4, part: 1, bytes } if bytes > MAX_ROW)
        );
        let words = refused.to_string();
        assert!(words.starts_with("part 1 of turn 4 takes 15000"), "{words}");
        // Small enough as a row, but each quote has four bytes in a request.
        let quotes = encoded(vec![Part::text("\"".repeat(MAX_ROW / 2 - 100))]).unwrap_err();
        assert!(
            matches!(quotes, EncodeError::PartTooLarge { turn: 4, part: 0, bytes } if bytes > REQUEST_BYTES)
        );
    }

    #[test]
    fn data_above_a_request_is_stored_in_pieces() {
        let names = |chars: usize| {
            let encoded = encoded(vec![image(chars)]).unwrap();
            let names = encoded.attachments.into_iter();
            (
                encoded.rows[0].json.clone(),
                names.map(|piece| piece.name).collect::<Vec<_>>(),
            )
        };
        assert_eq!(names(REQUEST_BYTES - 100).1, ["t4p0"]);
        let (row, pieces) = names(2 * PIECE_CHARS + 1);
        assert_eq!(pieces, ["t4p0.0", "t4p0.1", "t4p0.2"]);
        assert!(row.contains(r#""dataRef":"t4p0","dataPieces":3"#), "{row}");
    }

    #[test]
    fn oversized_media_type_is_rejected() {
        let part = Part::Image {
            media_type: "x".repeat(REQUEST_BYTES),
            data: "A".repeat(INLINE_CHARS + 1),
        };
        let refused = encoded(vec![part]).unwrap_err();
        assert!(
            matches!(refused, EncodeError::AttachmentTooLarge { name, .. } if name == "t4p0.0")
        );
    }
}
