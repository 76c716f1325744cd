//! `/retrieve`: returns records that match a query, best first.
//!
//! The full-text index selects candidates, [`Query`] ranks them. Returned records count as used.

use ars_sql::{Row, Sql, SqlError, Value};
use ars_store::{JsonListAnswer, Refusal, StoreFailure, json::parse_body};
use ars_types::UnixMillis;

use super::{
    MemoryStore, request,
    rows::{NO_RECORDS, any_of, travelling},
};
use crate::{Query, record_id};

/// Minimum number of candidates that are scored.
const MIN_CANDIDATES: i64 = 50;
/// Candidates that are scored per requested record.
const CANDIDATES_PER_RECORD: i64 = 5;

/// Selects candidates by rank, among equal ranks the older first. Only scored rows are read.
const CANDIDATES: &str = "SELECT n, coalesce(last_used_at, created_at), memory_records.tokens FROM \
    (SELECT rowid AS n, bm25(memory_index) AS score FROM memory_index WHERE memory_index MATCH ?1 \
    ORDER BY score, rowid LIMIT ?2) AS ranked CROSS JOIN memory_records USING (n) ORDER BY ranked.score, n";

/// Counts a use for each record in a list.
const BUMP: &str = "UPDATE memory_records SET last_used_at = ?1, use_count = use_count + 1 \
    WHERE n IN (SELECT value FROM json_each(?2))";

/// Selects the records in a list, in list order.
const CHOSEN: JsonListAnswer<'_> = JsonListAnswer {
    name: "records",
    rows: concat!(
        "SELECT chosen.key AS place, ",
        travelling!(),
        " FROM json_each(?3) AS chosen CROSS JOIN memory_records ON n = chosen.value"
    ),
    order: "place",
};

impl<S: Sql> MemoryStore<S> {
    /// Handles a `/retrieve` request.
    pub(super) fn retrieve(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let scope_key = request::scope_key(&body)?;
        let rule = "must be a string of at most 4000 characters";
        let query = request::query(&body)?.ok_or_else(|| Refusal::field("query", rule))?;
        let limit = request::limit(&body)?;
        let best = self.best(&query, limit, now)?;
        if best.is_empty() {
            return Ok(S::Text::from(NO_RECORDS.to_owned()));
        }
        let best = Value::from(serde_json::json!(best).to_string());
        self.sql.execute(BUMP, &[Value::from(now), best.clone()])?;
        let prefix = Value::from(record_id::prefix(scope_key));
        Ok(CHOSEN.answer(&self.sql, &[prefix, Value::from(scope_key), best])?)
    }

    /// Returns the best records' numbers, best first.
    fn best(&self, query: &Query, limit: i64, now: UnixMillis) -> Result<Vec<i64>, SqlError> {
        if query.is_empty() {
            return Ok(Vec::new());
        }
        let cap = MIN_CANDIDATES.max(CANDIDATES_PER_RECORD * limit);
        let params = [Value::from(any_of(&query.chosen())), Value::from(cap)];
        let scored = |row: Row| {
            let (n, used_at) = (row.integer(0)?, row.integer(1)?);
            Ok::<_, SqlError>(
                query
                    .score_tokens(row.text(2)?.split(' '), used_at, now)
                    .map(|score| (n, score)),
            )
        };
        let rows = self.sql.query(CANDIDATES, &params)?;
        let mut scored: Vec<_> = rows
            .into_iter()
            .filter_map(|row| scored(row).transpose())
            .collect::<Result<_, _>>()?;
        // Stable: among equal scores the better rank comes first.
        scored.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Ok(scored
            .into_iter()
            .take(limit as usize)
            .map(|(n, _)| n)
            .collect())
    }
}
