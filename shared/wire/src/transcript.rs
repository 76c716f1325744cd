//! Transcript bodies.
//!
//! Clients use these types. The store reads requests as JSON, because each field has a separate
//! error. Not here: encoding a conversation in parts.

use ars_types::RunId;
use serde::{Deserialize, Serialize};

use crate::{ledger::Owner, whole::whole};

/// Request body for `/runs/transcript/write`. The body for `/runs/transcript/owner` is an
/// [`Owner`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteRequest<'a> {
    /// Who writes: run and generation.
    #[serde(flatten)]
    pub owner: &'a Owner,
    /// Parts; each replaces any part with the same key.
    pub rows: &'a [Part],
    /// Attachments; each replaces any attachment with the same name.
    pub attachments: &'a [Attachment],
}

/// Request body for `/runs/transcript/read`, and for `/runs/transcript/clear` if the run ended. The
/// body for a fenced `/runs/transcript/clear` is an [`Owner`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfRun<'a> {
    /// Id of the run.
    pub run_id: &'a RunId,
}

/// Response from `/runs/transcript/read`, empty for an unknown run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Parts ordered by turn and index.
    pub rows: Vec<Part>,
    /// Attachments with their names.
    pub attachments: Vec<Attachment>,
}

/// A turn's content part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Index of the turn.
    #[serde(deserialize_with = "whole")]
    pub idx: u64,
    /// The part's index in the turn.
    #[serde(deserialize_with = "whole")]
    pub part: u64,
    /// The part as text, opaque to the store.
    pub json: String,
}

/// Data too large for a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The name by which a part refers to it.
    #[serde(rename = "ref")]
    pub name: String,
    /// Media type of the data.
    pub media_type: String,
    /// The data in base64.
    pub data: String,
}

#[cfg(test)]
mod tests {
    use ars_types::Generation;
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_lists_are_written() {
        let owner = Owner {
            run_id: RunId::parse("r1").unwrap(),
            generation: Generation::parse("g1").unwrap(),
        };
        let rows = [Part {
            idx: 0,
            part: 1,
            json: "{}".into(),
        }];
        let request = WriteRequest {
            owner: &owner,
            rows: &rows,
            attachments: &[],
        };
        let travelling = json!({ "runId": "r1", "gen": "g1", "rows": [{ "idx": 0, "part": 1, "json": "{}" }],
            "attachments": [] });
        assert_eq!(serde_json::to_value(&request).unwrap(), travelling);
    }

    #[test]
    fn an_attachment_is_named_by_its_ref() {
        let text =
            r#"{"rows":[],"attachments":[{"ref":"t0p1","mediaType":"image/png","data":"aGk="}]}"#;
        let read: Transcript = serde_json::from_str(text).unwrap();
        assert_eq!(read.attachments[0].name, "t0p1");
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
