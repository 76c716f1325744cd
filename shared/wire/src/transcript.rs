//! Transcript bodies.
//!
//! Clients use these types. The store reads requests as JSON, because each field has its own error. Not here: the
//! encoding of a conversation in parts.

use ars_types::RunId;
use serde::{Deserialize, Serialize};

use crate::{ledger::Owner, whole::whole};

/// Body of `/runs/transcript/write`. The body of `/runs/transcript/owner` is an [`Owner`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteRequest<'a> {
    /// The writer.
    #[serde(flatten)]
    pub owner: &'a Owner,
    /// Parts; each replaces the one with its key.
    pub rows: &'a [Part],
    /// Attachments; each replaces the one with its name.
    pub attachments: &'a [Attachment],
}

/// Body of `/runs/transcript/read`, and of `/runs/transcript/clear` for a run that ended.
/// The body of a fenced `/runs/transcript/clear` is an [`Owner`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfRun<'a> {
    /// The run.
    pub run_id: &'a RunId,
}

/// Answer of `/runs/transcript/read`, empty for an unknown run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Parts in order of turn and index.
    pub rows: Vec<Part>,
    /// Attachments by name.
    pub attachments: Vec<Attachment>,
}

/// One content part of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The turn.
    #[serde(deserialize_with = "whole")]
    pub idx: u64,
    /// Its index in the turn.
    #[serde(deserialize_with = "whole")]
    pub part: u64,
    /// The part as text, opaque to the store.
    pub json: String,
}

/// Data too large for a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// Its name, by which a part refers to it.
    #[serde(rename = "ref")]
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its data, base64.
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
