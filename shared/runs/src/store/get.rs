//! One run, whole: `{ record }`, null when unknown, expired or hidden (state-worker supplement section 5.5).

use ars_sql::{Sql, SqlError, Value};
use ars_types::{RunId, UnixMillis};

use super::{
    RunStore, events,
    horizon::{Horizon, VISIBLE},
    request::required_run_id,
};
use crate::{json::parse_body, refusal::StoreFailure};

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/get`.
    pub fn get(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let id = required_run_id(&parse_body(body)?, "id")?;
        let Some(item) = self.item(&id, now)? else { return Ok(r#"{"record":null}"#.into()) };
        let page = events::read(&self.sql, &id, 0, events::ALL)?;
        // The item is an object with members, so its last character is its closing brace.
        let members = item.strip_suffix('}').unwrap_or(&item);
        Ok(format!(r#"{{"record":{members},"events":[{}]}}}}"#, page.joined))
    }

    /// What readers see of a run beside its events.
    fn item(&self, id: &RunId, now: UnixMillis) -> Result<Option<String>, SqlError> {
        let statement =
            format!("SELECT {} FROM runs WHERE id = ?3 AND {VISIBLE} AND json_valid(record)", self.item);
        let [at, floor] = Horizon::read(&self.sql, now)?.params();
        let rows = self.sql.query(&statement, &[at, floor, Value::from(id.as_str())])?;
        rows.into_iter().next().map(|row| row.into_text(0)).transpose()
    }
}
