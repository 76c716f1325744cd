//! `/write`: writes candidates.
//!
//! A single transaction: one statement reads the rows that the batch may touch, [`plan`] decides,
//! and a fixed number of statements writes.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json};

use ars_sql::{Sql, SqlError, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body, request::integer};
use ars_types::UnixMillis;

use super::{
    MemoryStore,
    plan::{Item, Known, Plan, Target, plan},
    request,
};
use crate::{candidate::Candidate, record_id};

/// Default limit for active records per scope.
pub const DEFAULT_CAP: i64 = 500;
/// Maximum limit that a request may set.
const MAX_CAP: i64 = 10_000;

/// Reads the [`Known`] fields for a batch with the texts `?1` and the numbers `?2`.
const KNOWN: &str = "SELECT (SELECT coalesce(max(n), -1) + 1 FROM memory_records), \
    (SELECT count(*) FROM memory_records WHERE status = 'active'), \
    (SELECT json_group_array(json_array(wanted.key, n)) FROM json_each(?1) AS wanted \
    CROSS JOIN memory_records ON normalized = wanted.value AND status = 'active'), \
    (SELECT json_group_array(n) FROM memory_records \
    WHERE n IN (SELECT value FROM json_each(?2)) AND status = 'active')";

/// Counts a restatement for each occurrence in a list.
const RESTATE: &str = "UPDATE memory_records \
    SET use_count = use_count + (SELECT count(*) FROM json_each(?1) WHERE value = n) \
    WHERE n IN (SELECT value FROM json_each(?1))";

const REPLACE: &str = "UPDATE memory_records SET status = 'superseded', normalized = NULL, tokens = NULL, retired_at = ?2 \
    WHERE n IN (SELECT value FROM json_each(?1))";

const INSERT: &str = "INSERT INTO memory_records (n, status, created_at, use_count, record, normalized, tokens, retired_at) \
    SELECT value ->> 'n', iif(value ->> 'tokens' IS NULL, 'superseded', 'active'), ?2, value ->> 'useCount', \
    value -> 'record', value ->> 'normalized', value ->> 'tokens', iif(value ->> 'tokens' IS NULL, ?2, NULL) \
    FROM json_each(?1)";

/// Evicts records in the order given by the index of stale records.
const EVICT: &str = "UPDATE memory_records SET status = 'evicted', normalized = NULL, tokens = NULL, retired_at = ?2 WHERE n IN \
    (SELECT n FROM memory_records WHERE status = 'active' \
    ORDER BY coalesce(last_used_at, created_at), created_at, n LIMIT ?1)";

impl<S: Sql> MemoryStore<S> {
    /// Handles a `/write` request.
    pub(super) fn write(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let scope_key = request::scope_key(&body)?;
        let candidates = Candidate::read_all(&body)?;
        let cap = cap(&body)?;
        let Batch {
            texts,
            numbers,
            items,
        } = Batch::new(&candidates, scope_key);
        let (plan, evicted) = self.sql.transaction(|| {
            let known = self.known(&texts, &numbers)?;
            let plan = plan(&items, &known);
            self.carry_out(&plan, now)?;
            let surplus = (plan.active_after(&known) - cap).max(0);
            if surplus > 0 {
                self.sql
                    .execute(EVICT, &[Value::from(surplus), Value::from(now)])?;
            }
            Ok::<_, SqlError>((plan, surplus))
        })?;
        let Plan {
            inserted,
            deduped,
            superseded,
            ..
        } = plan;
        Ok(format!(
            r#"{{"ok":true,"inserted":{inserted},"deduped":{deduped},"superseded":{superseded},"evicted":{evicted}}}"#
        ))
    }

    fn known(&self, texts: &[&str], numbers: &[i64]) -> Result<Known, SqlError> {
        let rows = self.sql.query(KNOWN, &[list(texts)?, list(numbers)?])?;
        let row = rows
            .first()
            .ok_or_else(|| SqlError::Shape("scalars without a row".into()))?;
        Ok(Known {
            next: row.integer(0)?,
            active: row.integer(1)?,
            equal: from_list(row.text(2)?)?,
            named: from_list(row.text(3)?)?,
        })
    }

    fn carry_out(&self, plan: &Plan<'_>, now: UnixMillis) -> Result<(), SqlError> {
        if !plan.restated.is_empty() {
            self.sql.execute(RESTATE, &[list(&plan.restated)?])?;
        }
        if !plan.replaced.is_empty() {
            self.sql
                .execute(REPLACE, &[list(&plan.replaced)?, Value::from(now)])?;
        }
        if !plan.born.is_empty() {
            self.sql
                .execute(INSERT, &[list(&plan.born)?, Value::from(now)])?;
        }
        Ok(())
    }
}

/// Parameters for the statement that reads known rows.
struct Batch<'a> {
    /// Distinct texts, normalized.
    texts: Vec<&'a str>,
    /// Numbers in this scope that candidates name.
    numbers: Vec<i64>,
    items: Vec<Item<'a>>,
}

impl<'a> Batch<'a> {
    fn new(candidates: &'a [Candidate<'a>], scope_key: &str) -> Self {
        let (mut batch, mut places) = (
            Self {
                texts: vec![],
                numbers: vec![],
                items: vec![],
            },
            BTreeMap::new(),
        );
        for candidate in candidates {
            let text = *places
                .entry(candidate.normalized.as_str())
                .or_insert_with(|| {
                    batch.texts.push(&candidate.normalized);
                    batch.texts.len() - 1
                });
            let target = candidate.record.supersedes.map(|id| {
                record_id::number_in(scope_key, id).map_or(Target::Elsewhere, |n| {
                    batch.numbers.push(n);
                    Target::Here(n)
                })
            });
            batch.items.push(Item {
                candidate,
                text,
                target,
            });
        }
        batch
    }
}

fn cap(body: &Map<String, Json>) -> Result<i64, Refusal> {
    let rule = "must be an integer from 1 to 10000 when present";
    Ok(integer(body, "cap", 1..=MAX_CAP, rule)?.unwrap_or(DEFAULT_CAP))
}

/// Returns a list as a single parameter.
fn list<T: Serialize>(entries: &[T]) -> Result<Value, SqlError> {
    serde_json::to_string(entries)
        .map(Value::from)
        .map_err(|error| SqlError::Shape(error.to_string()))
}

fn from_list<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, SqlError> {
    serde_json::from_str(text).map_err(|error| SqlError::Shape(error.to_string()))
}
