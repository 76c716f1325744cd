//! Point reads with the viewer's own permission, for surfaces without capability tokens.
//!
//! An unknown run and a denied run take the same steps, so that neither the response nor the time
//! tells them apart.

use ars_friction::{AnalysisOptions, Interval, analyze};
use ars_types::RunId;
use ars_wire::runs::EventsPage;
use serde_json::Value;

use super::{Friction, Queries, QueryError, Reader, RunEntry};
use crate::registry::{LiveRun, Restored};

/// A readable run and where the events are.
enum Opened {
    /// Runs in this process.
    Local(Box<LiveRun>),
    /// Runs in another process.
    Remote(Box<RunEntry>),
    /// Stored in the history.
    Stored(Box<RunEntry>),
}

impl Queries {
    /// Returns a run, live or finished.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::NotFound`] for an unknown run, and [`QueryError::Denied`] if it is not
    /// readable.
    pub async fn get_entry(&self, reader: &Reader<'_>, id: &RunId) -> Result<RunEntry, QueryError> {
        Ok(match self.opened(reader, id).await? {
            Opened::Local(run) => RunEntry::of_live(&run),
            Opened::Remote(run) | Opened::Stored(run) => *run,
        })
    }

    /// Returns a run with all kept events.
    ///
    /// # Errors
    ///
    /// As [`Queries::get_entry`].
    pub async fn get_entry_with_events(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
    ) -> Result<(RunEntry, Vec<Value>), QueryError> {
        match self.opened(reader, id).await? {
            Opened::Local(run) => Ok((RunEntry::of_live(&run), parsed(&run, 0))),
            Opened::Remote(run) => Ok((*run, self.remote_events(id, 0).await?)),
            Opened::Stored(run) => {
                let record = self
                    .context
                    .store()
                    .get(id)
                    .await
                    .map_err(|error| reader.unavailable(&error))?;
                let record = record.ok_or_else(|| reader.hidden("deleted"))?;
                Ok((*run, record.events))
            }
        }
    }

    /// Returns a page of a run's events after a seq, and how this process restored the run, if it did.
    ///
    /// # Errors
    ///
    /// As [`Queries::get_entry`].
    pub async fn events_page(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
        after: u64,
        limit: u32,
    ) -> Result<(EventsPage, Option<Restored>), QueryError> {
        match self.opened(reader, id).await? {
            Opened::Local(run) => Ok((first(parsed(&run, after), limit), run.restored)),
            Opened::Remote(_) => {
                // A store that does not know the position returns all events.
                let mut events = self.remote_events(id, after).await?;
                events.retain(|event| seq_of(event).is_some_and(|seq| seq > after));
                Ok((first(events, limit), None))
            }
            Opened::Stored(_) => {
                let page = self.context.store().events(id, after, limit).await;
                let page = page.map_err(|error| reader.unavailable(&error))?;
                page.map(|page| (page, None))
                    .ok_or_else(|| reader.hidden("deleted"))
            }
        }
    }

    /// Returns a run's diagnosis.
    ///
    /// # Errors
    ///
    /// As [`Queries::get_entry`].
    pub async fn diagnosis(&self, reader: &Reader<'_>, id: &RunId) -> Result<Friction, QueryError> {
        let (run, events) = match self.opened(reader, id).await? {
            Opened::Local(run) => (RunEntry::of_live(&run), parsed(&run, 0)),
            Opened::Remote(run) => (*run, self.remote_events(id, 0).await?),
            Opened::Stored(run) => {
                if let Some(diagnosis) = run.detail.diagnosis {
                    return Ok(Friction {
                        id: run.summary.id,
                        finished: true,
                        diagnosis,
                    });
                }
                let (run, events) = self.get_entry_with_events(reader, id).await?;
                (run, events)
            }
        };
        let start = run
            .detail
            .received_at
            .map_or(run.summary.started_at, ars_wire::Moment::rounded);
        let window = run.summary.finished.map(|(end, _)| Interval {
            start,
            end: end.rounded(),
        });
        let finished = run.summary.finished.is_some();
        let options = AnalysisOptions {
            finished,
            window,
            ..AnalysisOptions::default()
        };
        let diagnosis = serde_json::to_value(analyze(&events, &options)).unwrap_or_default();
        Ok(Friction {
            id: run.summary.id,
            finished,
            diagnosis,
        })
    }

    async fn opened(&self, reader: &Reader<'_>, id: &RunId) -> Result<Opened, QueryError> {
        let local = self.context.registry().get(id);
        let is_local = local.is_some();
        let mut denied = None;
        if let Some(run) = local {
            match reader.check_read(&RunEntry::of_live(&run)) {
                Ok(()) => {
                    reader.log_read(id);
                    return Ok(Opened::Local(Box::new(run)));
                }
                Err(reason) => denied = Some(reason),
            }
        }
        let listing = self.live_rows().await;
        let row = listing.find(id).filter(|_| !is_local);
        if let Some(run) = row.and_then(RunEntry::of_row) {
            match reader.check_read(&run) {
                Ok(()) => {
                    reader.log_read(id);
                    return Ok(Opened::Remote(Box::new(run)));
                }
                Err(reason) => denied = Some(reason),
            }
        }
        let stored = self
            .context
            .store()
            .summary(id)
            .await
            .map_err(|error| reader.unavailable(&error))?;
        let stored = stored.and_then(|item| serde_json::from_value(item).ok());
        // A live run's record is provisional.
        let is_final = |run: &RunEntry| {
            !is_local && row.is_none() && !(listing.is_unavailable && run.summary.is_provisional())
        };
        let hidden = match stored.map(RunEntry::of_stored).filter(is_final) {
            Some(run) => match reader.check_read(&run) {
                Ok(()) => {
                    reader.log_read(id);
                    return Ok(Opened::Stored(Box::new(run)));
                }
                Err(reason) => reader.denied(reason),
            },
            None => denied.map_or_else(|| reader.hidden("unknown"), |reason| reader.denied(reason)),
        };
        // Without the listing any hidden run may be live. They all have the same answer, so that none is revealed.
        Err(if listing.is_unavailable {
            QueryError::Unavailable
        } else {
            hidden
        })
    }
}

fn parsed(run: &LiveRun, after: u64) -> Vec<Value> {
    // The registry wrote this JSON, so it parses.
    let events = run
        .events
        .iter()
        .filter_map(|json| serde_json::from_str::<Value>(json).ok());
    events
        .filter(|event| seq_of(event).is_some_and(|seq| seq > after))
        .collect()
}

fn first(mut events: Vec<Value>, limit: u32) -> EventsPage {
    let has_more = events.len() > limit as usize;
    events.truncate(limit as usize);
    let next_after_seq = events.last().filter(|_| has_more).and_then(seq_of);
    EventsPage {
        events,
        next_after_seq,
    }
}

fn seq_of(event: &Value) -> Option<u64> {
    event.get("seq")?.as_u64()
}
