//! A run's diagnosis: as stored, or made from the events so far.

use ars_friction::{AnalysisOptions, Interval, analyze};
use ars_types::RunId;
use serde::Serialize;
use serde_json::Value;

use super::{Queries, QueryError, Reader, RunView};

/// A run's diagnosis and state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Friction {
    /// Id of the run.
    pub id: RunId,
    /// Whether the run has finished. A live run's diagnosis is preliminary.
    pub finished: bool,
    /// Stored, or made from the events so far.
    pub diagnosis: Value,
}

impl Queries {
    /// Returns a run's diagnosis.
    ///
    /// # Errors
    ///
    /// As [`Queries::get`].
    pub async fn friction(&self, reader: &Reader<'_>, id: &RunId) -> Result<Friction, QueryError> {
        let view = self.get(reader, id).await?.into_view();
        let finished = view.finished.is_some();
        let diagnosis = view.diagnosed();
        Ok(Friction {
            id: view.id,
            finished,
            diagnosis,
        })
    }
}

impl RunView {
    /// Returns the stored diagnosis, or makes one from the events so far.
    pub fn diagnosed(&self) -> Value {
        self.diagnosis.clone().unwrap_or_else(|| diagnose(self))
    }
}

fn diagnose(view: &RunView) -> Value {
    let start = view.received_at.unwrap_or(view.started_at);
    let window = view.finished.map(|(end, _)| Interval { start, end });
    let options = AnalysisOptions {
        finished: view.finished.is_some(),
        window,
        ..AnalysisOptions::default()
    };
    serde_json::to_value(analyze(&view.events, &options)).unwrap_or_default()
}
