//! Writes a run's record and ends the live run in a single transaction: `{ ok, stored }`.
//!
//! The record is written like a put, and its events replace the appended events. A repeated finish
//! returns `unknown-run`, and the caller falls back to a put, which is idempotent.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{Refusal, StoreFailure};
use ars_types::{RunId, UnixMillis};

use super::request::OwnerWrite;
use crate::{
    RunStore,
    store::{EventBody, Put},
};

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/finish` request.
    pub(crate) fn finish(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let EventBody { fields, events } = EventBody::read(body, &Put::EVENTS)?;
        let mut write = OwnerWrite::from_fields(fields)?;
        let put = Put::read(&mut write.body, events, now)?;
        if put.id() != write.run.as_str() {
            return Err(Refusal::field("record.id", "must be the run's").into());
        }
        let stored = self.sql().transaction(|| {
            self.check_owner(&write)?;
            self.end(&write.run)?;
            Ok::<_, StoreFailure>(self.write_final(&put, now)?)
        })?;
        Ok(format!(r#"{{"ok":true,"stored":{stored}}}"#))
    }

    /// Deletes all the rows of a live run except its events.
    fn end(&self, id: &RunId) -> Result<(), SqlError> {
        for table in [
            "live_runs",
            "live_specs",
            "live_steps",
            "live_inbox",
            "live_jobs",
        ] {
            let statement = format!("DELETE FROM {table} WHERE run_id = ?");
            self.sql()
                .execute(&statement, &[Value::from(id.as_str())])?;
        }
        Ok(())
    }
}
