//! Writes a record: `{ ok, retained, stored, rewritten }`.
//!
//! All writes are a single transaction. A failure rolls back everything, including the policy in
//! the request.

use ars_sql::{Sql, SqlError, Value};
use ars_store::StoreFailure;
use ars_types::UnixMillis;
use serde_json::Value as Json;

use super::{
    RunStore,
    event_text::EventBody,
    put_request::{Proposal, Put, visibility},
    trim::{self, Trimmed},
};

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/put` request.
    pub fn put(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let EventBody { mut fields, events } = EventBody::read(body, &Put::EVENTS)?;
        let put = Put::read(&mut fields, events, now)?;
        let (rewritten, trimmed) = self.sql.transaction(|| self.write(&put, now))?;
        let Trimmed { retained, survived } = trimmed;
        Ok(format!(
            r#"{{"ok":true,"retained":{retained},"stored":{survived},"rewritten":{rewritten}}}"#
        ))
    }

    fn write(&self, put: &Put<'_>, now: UnixMillis) -> Result<(bool, Trimmed), SqlError> {
        let earlier = self.version(&put.id)?;
        self.write_row(put, now)?;
        let is_other = earlier != Some(put.version());
        if is_other {
            // A live run's events were acknowledged and belong to the ledger, so a put does not
            // replace them.
            if self.is_live(&put.id)? {
                self.fill_in_events(&put.id, put.batch())?;
            } else {
                self.delete_events(&put.id)?;
                self.write_events(&put.id, put.batch())?;
            }
        }
        Ok((
            earlier.is_some() && is_other,
            trim::after_put(&self.sql, &put.id, now)?,
        ))
    }

    /// Writes the record that ends a run, replacing all events; returns whether the record is visible.
    pub(crate) fn write_final(&self, put: &Put<'_>, now: UnixMillis) -> Result<bool, SqlError> {
        self.write_row(put, now)?;
        self.delete_events(&put.id)?;
        self.write_events(&put.id, put.batch())?;
        Ok(trim::after_put(&self.sql, &put.id, now)?.survived)
    }

    /// Replaces the policy if the proposal is newer.
    /// A stamp ahead of the store's clock counts as now, so that a later proposal still wins.
    fn propose(&self, proposal: &Proposal, now: UnixMillis) -> Result<(), SqlError> {
        let Proposal { policy, updated_at } = proposal;
        self.sql.execute(
            "UPDATE retention SET retention_days = ?1, max_runs = ?2, max_bytes = ?3, policy_updated_at = ?4 \
             WHERE policy_updated_at < ?4",
            &[
                Value::from(policy.retention_days()),
                Value::from(policy.max_runs()),
                Value::from(policy.max_bytes()),
                Value::from(updated_at.min(now as f64)),
            ],
        )
    }

    /// Returns a stored run's version.
    fn version(&self, id: &str) -> Result<Option<(f64, f64, f64)>, SqlError> {
        let rows = self.sql.query(
            "SELECT event_count, finished_at, bytes FROM runs WHERE id = ?",
            &[Value::from(id)],
        )?;
        rows.first()
            .map(|row| Ok((row.real(0)?, row.real(1)?, row.real(2)?)))
            .transpose()
    }

    /// Writes a run's row, without its events. The request's policy is applied before.
    fn write_row(&self, put: &Put<'_>, now: UnixMillis) -> Result<(), SqlError> {
        if let Some(proposal) = &put.proposal {
            self.propose(proposal, now)?;
        }
        let text = |name: &str| {
            Value::from(
                put.record
                    .get(name)
                    .and_then(Json::as_str)
                    .unwrap_or_default(),
            )
        };
        self.sql.execute(
            "REPLACE INTO runs (id, finished_at, event_count, bytes, agent, channel_id, user_id, repo, visibility, \
             stored_at, record, plain, brief) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                Value::from(put.id.as_str()),
                Value::from(put.finished_at),
                Value::from(put.event_count),
                Value::from(put.bytes),
                text("agent"),
                text("channelId"),
                text("userId"),
                text("repo"),
                Value::from(visibility(&put.record)),
                Value::from(now),
                Value::from(put.text.as_str()),
                Value::from(put.plain),
                Value::from(put.brief.as_deref()),
            ],
        )
    }

    fn delete_events(&self, id: &str) -> Result<(), SqlError> {
        self.sql.execute(
            "DELETE FROM run_events WHERE run_id = ?",
            &[Value::from(id)],
        )
    }
}
