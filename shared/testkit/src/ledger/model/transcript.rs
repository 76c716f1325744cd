//! Transcripts: a separate owner, rows and attachments. They are independent from the ledger.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::rules::Rules;
use super::{
    Model,
    answer::{Answer, fenced, ok},
};
use crate::ledger::expected::Expected;
use crate::ledger::payload::{Name, Part, Writer, attachment_json};

/// A single run's transcript.
#[derive(Debug, Clone)]
pub(super) struct Transcript {
    owner: Name,
    rows: BTreeMap<(i64, i64), Value>,
    /// Attachments by their ref.
    attachments: BTreeMap<String, Value>,
}

impl Model {
    pub(super) fn transcript_owner(&mut self, writer: &Writer) -> Answer {
        Rules::default().writer(writer).hold()?;
        let transcript = self
            .transcripts
            .entry(writer.run)
            .or_insert_with(|| Transcript::new(writer.generation));
        transcript.owner = writer.generation;
        Ok(ok())
    }

    pub(super) fn transcript_write(
        &mut self,
        writer: &Writer,
        rows: &[Part],
        attachments: &[u8],
    ) -> Answer {
        let whole = rows.iter().all(|row| row.idx >= 0 && row.part >= 0);
        Rules::default().writer(writer).that(whole, "rows").hold()?;
        let transcript = self.transcripts.get_mut(writer.run);
        let transcript = transcript.ok_or_else(|| Expected::refused("unknown-run"))?;
        if transcript.owner != writer.generation {
            return Err(fenced());
        }
        transcript
            .rows
            .extend(rows.iter().map(|row| ((row.idx, row.part), row.json())));
        let attachments = attachments.iter().copied().map(attachment_json);
        transcript
            .attachments
            .extend(attachments.map(|json| (json["ref"].to_string(), json)));
        Ok(ok())
    }

    pub(super) fn transcript_read(&self, run: Name) -> Answer {
        Rules::default().run(run, "runId").hold()?;
        let transcript = self.transcripts.get(run);
        let rows: Vec<_> = transcript
            .into_iter()
            .flat_map(|known| known.rows.values())
            .collect();
        let attachments: Vec<_> = transcript
            .into_iter()
            .flat_map(|known| known.attachments.values())
            .collect();
        Ok(Expected::ok(
            json!({ "rows": rows, "attachments": attachments }),
        ))
    }

    pub(super) fn transcript_clear(&mut self, run: Name, generation: Option<Name>) -> Answer {
        let rules = Rules::default().run(run, "runId");
        generation
            .into_iter()
            .fold(rules, Rules::generation)
            .hold()?;
        let owner = self.transcripts.get(run).map(|known| known.owner);
        if generation.is_some_and(|generation| owner.is_some_and(|owner| owner != generation)) {
            return Err(fenced());
        }
        self.transcripts.remove(run);
        Ok(ok())
    }
}

impl Transcript {
    fn new(owner: Name) -> Self {
        Self {
            owner,
            rows: BTreeMap::new(),
            attachments: BTreeMap::new(),
        }
    }
}
