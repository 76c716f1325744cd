//! Transcript bodies (document 2 section 2.4, state-worker supplement section 10.1).
//!
//! Clients build and read these types. The store reads requests as JSON, because each field has its own refusal. Not
//! here: how a conversation is encoded in parts (section 10.2).

use ars_types::RunId;
use serde::{Deserialize, Serialize};

use crate::{ledger::Owner, whole::whole};

/// Body of `/runs/transcript/write`. That of `/runs/transcript/owner` is an [`Owner`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteRequest<'a> {
    /// Who writes.
    #[serde(flatten)]
    pub owner: &'a Owner,
    /// Parts, each in place of what has its key.
    pub rows: &'a [Part],
    /// Attachments, each in place of what has its name.
    pub attachments: &'a [Attachment],
}

/// Body of `/runs/transcript/read` and `/runs/transcript/clear`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfRun<'a> {
    /// The run.
    pub run_id: &'a RunId,
}

/// Answer of `/runs/transcript/read`: all there is, nothing for an unknown run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Parts by turn and place in it.
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
    /// Its place in the turn.
    #[serde(deserialize_with = "whole")]
    pub part: u64,
    /// The part, as text that the store does not look into.
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
    fn a_write_travels_with_both_lists_even_when_empty() {
        let owner =
            Owner { run_id: RunId::parse("r1").unwrap(), generation: Generation::parse("g1").unwrap() };
        let rows = [Part { idx: 0, part: 1, json: "{}".into() }];
        let request = WriteRequest { owner: &owner, rows: &rows, attachments: &[] };
        let travelling = json!({ "runId": "r1", "gen": "g1", "rows": [{ "idx": 0, "part": 1, "json": "{}" }],
            "attachments": [] });
        assert_eq!(serde_json::to_value(&request).unwrap(), travelling);
    }

    #[test]
    fn an_attachment_is_named_by_its_ref() {
        let text = r#"{"rows":[],"attachments":[{"ref":"t0p1","mediaType":"image/png","data":"aGk="}]}"#;
        let read: Transcript = serde_json::from_str(text).unwrap();
        assert_eq!(read.attachments[0].name, "t0p1");
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
