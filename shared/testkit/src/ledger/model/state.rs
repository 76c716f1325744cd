//! The model's state.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    answer::fenced,
    row::{Finished, Row},
    transcript::Transcript,
};
use crate::ledger::{
    expected::Expected,
    payload::{Name, Writer},
};

/// A run store and the transcripts.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub(super) live: BTreeMap<Name, Row>,
    /// Finished and live runs' events, by seq.
    pub(super) events: BTreeMap<Name, BTreeMap<i64, Value>>,
    pub(super) finished: BTreeMap<Name, Finished>,
    pub(super) transcripts: BTreeMap<Name, Transcript>,
}

impl Model {
    /// Returns the row if `writer` owns it; an owner with an expired lease still owns the run.
    pub(super) fn owned(&mut self, writer: &Writer) -> Result<&mut Row, Expected> {
        match self.live.get_mut(writer.run) {
            Some(row) if row.owner == writer.generation => Ok(row),
            Some(_) => Err(fenced()),
            None => Err(Expected::refused("unknown-run")),
        }
    }
}
