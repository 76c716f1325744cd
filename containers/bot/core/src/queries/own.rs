//! A run as the requester follows it: progress, and the answer at the end.

use ars_auth::Denied;
use ars_types::{RunId, UnixMillis};
use serde_json::Value;

use super::{Queries, QueryError, Reader, RunEntry};

/// The reader's own run.
#[derive(Debug, Clone)]
pub struct OwnRun {
    /// The run's stored facts.
    pub run: RunEntry,
    /// When the latest event happened, or the run started.
    pub updated_at: UnixMillis,
    /// Number of kept events.
    pub events: usize,
    /// The tool that was called last.
    pub tool: Option<String>,
    /// The answer, once the run has ended with it.
    pub answer: Option<String>,
}

impl Queries {
    /// Returns a run that the reader itself requested, live or finished.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::NotFound`] for an unknown run, and [`QueryError::Denied`] for another actor's.
    pub async fn own(&self, reader: &Reader<'_>, id: &RunId) -> Result<OwnRun, QueryError> {
        let (run, events) = self.get_entry_with_events(reader, id).await?;
        if run.summary.user_id != reader.viewer.id() {
            return Err(reader.denied(Denied::NotSelf));
        }
        Ok(OwnRun::from_entry(run, &events))
    }
}

impl OwnRun {
    fn from_entry(run: RunEntry, events: &[Value]) -> Self {
        let last = |kind: &str, field: &str| {
            let found = events.iter().rev().find(|event| event["type"] == kind)?;
            found[field].as_str().map(str::to_owned)
        };
        let finished_at = run.summary.finished.map(|(at, _)| at.rounded());
        let last_event = events.iter().rev().find_map(|event| event["at"].as_i64());
        let updated_at = finished_at
            .max(last_event)
            .unwrap_or(run.summary.started_at);
        let (tool, answer) = (last("tool_call", "tool"), last("answer", "text"));
        Self {
            updated_at,
            events: events.len(),
            tool,
            answer,
            run,
        }
    }
}
