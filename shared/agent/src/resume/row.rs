//! The text of a transcript row: `{ role, part }` (state-worker supplement section 10.2).
//!
//! A turn without parts is one row whose part is null, so that it is told from a turn that was lost; the first row of
//! a turn with several says how many, so that the loss of its last rows shows. Image and document data too large for a
//! row is an attachment, and `dataRef` beside the emptied data names it.

use std::io;

use serde::{Deserialize, Serialize};

use crate::{Part, Role};

/// Names the attachment that holds a part's data.
pub(super) const DATA_REF: &str = "dataRef";

/// A row as it is written; `P` is a part, as it is or as JSON.
#[derive(Serialize)]
pub(super) struct Written<P> {
    pub(super) role: Role,
    pub(super) part: Option<P>,
    #[serde(flatten)]
    pub(super) marks: Marks,
}

/// What some rows say besides.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Marks {
    /// Parts of the turn, on its first row when there are several.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) parts: u64,
    /// The last follow-up in the conversation, on the last row of a write. A step whose record was lost would take its
    /// follow-ups from the inbox again without it.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) inbox_consumed_seq: u64,
}

/// A row as it is read, its references apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Read {
    pub(super) role: Role,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) part: Option<Part>,
    #[serde(default)]
    pub(super) parts: u64,
    #[serde(default)]
    pub(super) inbox_consumed_seq: u64,
}

/// The references of a row.
#[derive(Deserialize)]
pub(super) struct References {
    pub(super) part: PartReferences,
}

/// Those of its part.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartReferences {
    #[serde(default)]
    pub(super) data_ref: Option<String>,
    /// Of the pieces of a tool result.
    #[serde(default)]
    pub(super) content: Vec<PieceReference>,
}

/// That of one piece.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PieceReference {
    #[serde(default)]
    pub(super) data_ref: Option<String>,
}

/// Bytes of a value's JSON, counted without writing it anywhere.
pub(super) fn size(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // The types of this module can all be written as JSON.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

fn is_zero(mark: &u64) -> bool {
    *mark == 0
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
