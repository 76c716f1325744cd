//! Appends events to a live run (state-worker supplement sections 9.3 and 9.4).
//!
//! An event replaces what has its seq, so a repeated batch is harmless; a batch with one bad event is refused whole.

use ars_sql::Sql;
use ars_store::{Refusal, StoreFailure};

use super::{OK, request::OwnerWrite};
use crate::{
    RunStore,
    store::{EventBatch, EventBody, EventText},
};

/// Bytes of one event's JSON (section 9.1).
const MAX_EVENT: usize = 65_536;

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/append`.
    pub(crate) fn append(&self, body: &str) -> Result<String, StoreFailure> {
        let EventBody { fields, events } = EventBody::read(body, &["events"])?;
        let write = OwnerWrite::of(fields)?;
        let events = events.ok_or_else(|| Refusal::field("events", "must be an array"))?;
        let mut batch = EventBatch::default();
        for (index, event) in events.iter().enumerate() {
            batch.push(seq(index, event)?, &event.text);
        }
        let is_one = batch.is_one();
        let append = || {
            self.check_owner(&write)?;
            Ok::<_, StoreFailure>(self.write_events(write.run.as_str(), batch)?)
        };
        // Nothing comes between the two statements, and the second is atomic; only more than two need a transaction.
        if is_one {
            append()?;
        } else {
            self.sql().transaction(append)?;
        }
        Ok(OK.to_owned())
    }
}

/// The seq of an event that may be appended, the request's next after `index` others.
pub(super) fn seq(index: usize, event: &EventText<'_>) -> Result<i64, Refusal> {
    let seq = event
        .seq
        .ok_or_else(|| Refusal::field(format!("events[{index}].seq"), "must be an integer of at least 1"))?;
    if event.text.len() > MAX_EVENT {
        return Err(Refusal::field(format!("events[{index}]"), "must take at most 65536 bytes"));
    }
    Ok(seq)
}
