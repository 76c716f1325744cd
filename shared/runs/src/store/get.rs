//! One run, whole: `{ record }`, null when unknown, expired or hidden (state-worker supplement section 5.5).

use ars_sql::{Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};
use ars_types::{RunId, UnixMillis};

use super::{
    RunStore, events,
    horizon::{Horizon, VISIBLE},
};

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/get`.
    pub fn get(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let id = required_run_id(&parse_body(body)?, "id")?;
        let Some(item) = self.item(&self.item, &id, now)? else { return Ok(r#"{"record":null}"#.into()) };
        let events = self.all_events(&id)?;
        // The item is an object with members, so its last character is its closing brace.
        let members = item.strip_suffix('}').unwrap_or(&item);
        Ok(format!(r#"{{"record":{members},"events":[{events}]}}}}"#))
    }

    /// `item`, as SQL, of a run that readers see.
    pub(super) fn item(&self, item: &str, id: &RunId, now: UnixMillis) -> Result<Option<String>, SqlError> {
        let statement = format!("SELECT {item} FROM runs WHERE id = ?3 AND {VISIBLE} AND json_valid(record)");
        let [at, floor] = Horizon::read(&self.sql, now)?.params();
        let rows = self.sql.query(&statement, &[at, floor, Value::from(id.as_str())])?;
        rows.into_iter().next().map(|row| row.into_text(0)).transpose()
    }

    /// Every event of a run, in seq order, separated by commas.
    pub(crate) fn all_events(&self, id: &RunId) -> Result<String, SqlError> {
        Ok(events::read(&self.sql, id, 0, events::ALL)?.joined)
    }
}
