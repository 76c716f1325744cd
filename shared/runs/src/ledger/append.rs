//! Appends events to a live run.
//!
//! An event replaces the stored event with the same seq, so repeating a batch is idempotent. A
//! batch with any invalid event is rejected whole.

use ars_sql::Sql;
use ars_store::{Refusal, StoreFailure};

use super::{answers::OK, request::OwnerWrite};
use crate::{
    RunStore,
    store::{EventBatch, EventBody, EventText},
};

/// Maximum size of an event's JSON in bytes.
const MAX_EVENT: usize = 65_536;

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/append` request.
    pub(crate) fn append(&self, body: &str) -> Result<String, StoreFailure> {
        let EventBody { fields, events } = EventBody::read(body, &["events"])?;
        let write = OwnerWrite::from_fields(fields)?;
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
        // The owner check and a single atomic write need no transaction: calls on a store do not
        // interleave.
        if is_one {
            append()?;
        } else {
            self.sql().transaction(append)?;
        }
        Ok(OK.to_owned())
    }
}

/// Returns a valid event's seq, or a refusal that names the event by `index`.
pub(super) fn seq(index: usize, event: &EventText<'_>) -> Result<i64, Refusal> {
    let seq = event.seq.ok_or_else(|| {
        Refusal::field(
            format!("events[{index}].seq"),
            "must be an integer of at least 1",
        )
    })?;
    if event.text.len() > MAX_EVENT {
        return Err(Refusal::field(
            format!("events[{index}]"),
            "must have at most 65536 bytes",
        ));
    }
    Ok(seq)
}
