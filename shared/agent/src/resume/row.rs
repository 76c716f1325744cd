//! The text of a transcript row: `{ role, part }`.
//!
//! A turn without parts is a single row with a null part, which distinguishes it from a lost turn.
//! In a turn with several parts, the first row has their number, so that lost rows are detected.
//! Image and document data that is too large for a row is an attachment, named by `dataRef` beside
//! the emptied data. Data that is too large for a request is in several, counted by `dataPieces`.

use std::io;

use serde::{Deserialize, Serialize};

use crate::{Part, Role};

/// Names the attachment that holds a part's data.
pub(super) const DATA_REF: &str = "dataRef";

/// Number of attachments with the data, where one is too small for it.
pub(super) const DATA_PIECES: &str = "dataPieces";

/// Names a piece of data that several attachments hold.
pub(super) fn piece_name(name: &str, number: u64) -> String {
    format!("{name}.{number}")
}

/// A row to write. `P` is a part or a part's JSON.
#[derive(Serialize)]
pub(super) struct Written<P> {
    pub(super) role: Role,
    pub(super) part: Option<P>,
    #[serde(flatten)]
    pub(super) marks: Marks,
}

/// Optional marks on a row.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Marks {
    /// Number of parts in the turn, on the first row when there are several.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) parts: u64,
    /// The last follow-up in the conversation, on the last row of a write. Without it, a step with
    /// a lost record would consume follow-ups again.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) inbox_consumed_seq: u64,
}

/// A stored row without references.
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

/// The references in a row.
#[derive(Deserialize)]
pub(super) struct References {
    pub(super) part: PartReferences,
}

/// The references in the row's part.
#[derive(Deserialize)]
pub(super) struct PartReferences {
    #[serde(flatten)]
    pub(super) data: DataReference,
    /// References from the pieces of a tool result.
    #[serde(default)]
    pub(super) content: Vec<DataReference>,
}

/// Where data is that the row lacks.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataReference {
    #[serde(default)]
    pub(super) data_ref: Option<String>,
    /// Number of pieces; 0 for data in one attachment.
    #[serde(default)]
    pub(super) data_pieces: u64,
}

/// Counts the bytes in a value's JSON without a buffer.
pub(super) fn size(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Every type in this module has a JSON form.
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
