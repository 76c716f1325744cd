//! Writes a record: `{ ok, retained, stored, rewritten }` (state-worker supplement section 5.4).
//!
//! All in one transaction: a failure anywhere leaves nothing, not even the policy that came along.

use ars_sql::{Sql, SqlError, Value};
use ars_store::StoreFailure;
use ars_types::{UnixMillis, Visibility};
use serde_json::Value as Json;

use super::{
    RunStore,
    event_text::EventBody,
    put_request::{Proposal, Put},
    trim::{self, Trimmed},
};

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/put`.
    pub fn put(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let EventBody { mut fields, events } = EventBody::read(body, &Put::EVENTS)?;
        let put = Put::read(&mut fields, events, now)?;
        let (rewritten, trimmed) = self.sql.transaction(|| self.write(&put, now))?;
        let Trimmed { retained, survived } = trimmed;
        Ok(format!(r#"{{"ok":true,"retained":{retained},"stored":{survived},"rewritten":{rewritten}}}"#))
    }

    fn write(&self, put: &Put<'_>, now: UnixMillis) -> Result<(bool, Trimmed), SqlError> {
        let earlier = self.version(&put.id)?;
        self.write_row(put, now)?;
        let is_other = earlier != Some(put.version());
        if is_other {
            // The events of a live run are the ledger's, whoever puts a record of it: they were acknowledged.
            if self.is_live(&put.id)? {
                self.fill_in_events(&put.id, put.batch())?;
            } else {
                self.delete_events(&put.id)?;
                self.write_events(&put.id, put.batch())?;
            }
        }
        Ok((earlier.is_some() && is_other, trim::after_put(&self.sql, &put.id, now)?))
    }

    /// Writes the record that ends a run: its events replace all others. Answers whether it survived.
    pub(crate) fn write_final(&self, put: &Put<'_>, now: UnixMillis) -> Result<bool, SqlError> {
        self.write_row(put, now)?;
        self.delete_events(&put.id)?;
        self.write_events(&put.id, put.batch())?;
        Ok(trim::after_put(&self.sql, &put.id, now)?.survived)
    }

    /// Takes a policy over if it was decided after the one in force. A stamp ahead of the store's clock counts as
    /// now, so that an honest later one still wins (section 7.3).
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

    /// What tells two versions of a stored run apart.
    fn version(&self, id: &str) -> Result<Option<(f64, f64, f64)>, SqlError> {
        let rows = self
            .sql
            .query("SELECT event_count, finished_at, bytes FROM runs WHERE id = ?", &[Value::from(id)])?;
        rows.first().map(|row| Ok((row.real(0)?, row.real(1)?, row.real(2)?))).transpose()
    }

    /// Writes what lists and readers see of a run beside its events; the policy that came along goes first.
    fn write_row(&self, put: &Put<'_>, now: UnixMillis) -> Result<(), SqlError> {
        if let Some(proposal) = &put.proposal {
            self.propose(proposal, now)?;
        }
        let text = |name: &str| Value::from(put.record.get(name).and_then(Json::as_str).unwrap_or_default());
        let visibility = put.record.get("channelVisibility").and_then(Json::as_str);
        self.sql.execute(
            "REPLACE INTO runs (id, finished_at, event_count, bytes, agent, channel_id, user_id, repo, visibility, \
             stored_at, record, plain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                Value::from(put.id.as_str()),
                Value::from(put.finished_at),
                Value::from(put.event_count),
                Value::from(put.bytes),
                text("agent"),
                text("channelId"),
                text("userId"),
                text("repo"),
                Value::from(visibility.unwrap_or(Visibility::Unknown.as_str())),
                Value::from(now),
                Value::from(put.text.as_str()),
                Value::from(put.plain),
            ],
        )
    }

    fn delete_events(&self, id: &str) -> Result<(), SqlError> {
        self.sql.execute("DELETE FROM run_events WHERE run_id = ?", &[Value::from(id)])
    }
}
