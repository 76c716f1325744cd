//! Idempotency keys: the run that a key's first request started.
//!
//! See docs/reference/ledger.md#idempotency-keys. A key is written in its claim's transaction, so
//! that a run and its key exist together or not at all.

use serde_json::{Map, Value as Json, json};

use ars_sql::{Sql, SqlError, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body};
use ars_types::{RunId, UnixMillis};
use ars_wire::idempotency::{IDEMPOTENCY_MAX_AGE_MS, is_idempotency_key};

use crate::RunStore;

/// Maximum number of expired keys that a claim deletes. More than one, so that the table shrinks
/// again after a burst.
const MAX_EXPIRED: i64 = 16;
/// Number of hexadecimal digits in a fingerprint.
const FINGERPRINT_DIGITS: usize = 64;

/// A claim's idempotency key.
pub(super) struct Keyed {
    pub subject: String,
    pub key: String,
    fingerprint: String,
}

/// A key's first use.
pub(super) struct First {
    pub run_id: String,
    fingerprint: String,
}

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/first-use`: `{ first }`, null for an unknown or expired key.
    pub(crate) fn first_use(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let first = self.first_of(&subject(&body)?, &key(&body)?, now)?;
        Ok(json!({ "first": first.map(|first| first.json()) }).to_string())
    }

    /// Returns the first use of a key that has not expired.
    pub(super) fn first_of(
        &self,
        subject: &str,
        key: &str,
        now: UnixMillis,
    ) -> Result<Option<First>, SqlError> {
        let statement = "SELECT run_id, fingerprint FROM idempotency_keys \
                         WHERE subject = ?1 AND key = ?2 AND expires_at > ?3";
        let rows = self
            .sql()
            .query(statement, &[subject.into(), key.into(), Value::from(now)])?;
        let first = |row: &ars_sql::Row| {
            Ok(First {
                run_id: row.text(0)?.to_owned(),
                fingerprint: row.text(1)?.to_owned(),
            })
        };
        rows.first().map(first).transpose()
    }

    /// Writes a key, which replaces an expired key, and deletes some expired keys.
    pub(super) fn insert_key(
        &self,
        keyed: &Keyed,
        run: &RunId,
        now: UnixMillis,
    ) -> Result<(), SqlError> {
        self.sql().execute(
            "DELETE FROM idempotency_keys WHERE (subject, key) IN (SELECT subject, key FROM idempotency_keys \
             WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
            &[Value::from(now), Value::from(MAX_EXPIRED)],
        )?;
        self.sql().execute(
            "INSERT OR REPLACE INTO idempotency_keys (subject, key, fingerprint, run_id, expires_at) \
             VALUES (?, ?, ?, ?, ?)",
            &[
                keyed.subject.as_str().into(),
                keyed.key.as_str().into(),
                keyed.fingerprint.as_str().into(),
                run.as_str().into(),
                Value::from(now.saturating_add(IDEMPOTENCY_MAX_AGE_MS)),
            ],
        )
    }
}

impl Keyed {
    /// Reads the field `idempotency` from a claim's run.
    pub(super) fn read(run: &Map<String, Json>) -> Result<Option<Self>, Refusal> {
        let fields = match run.get("idempotency") {
            None => return Ok(None),
            Some(Json::Object(fields)) => fields,
            Some(_) => return Err(Refusal::field("idempotency", "must be an object")),
        };
        let read = || {
            Ok(Self {
                subject: subject(fields)?,
                key: key(fields)?,
                fingerprint: fingerprint(fields)?,
            })
        };
        read()
            .map(Some)
            .map_err(|refusal: Refusal| refusal.within("idempotency"))
    }
}

impl First {
    fn json(&self) -> Json {
        json!({ "runId": self.run_id, "fingerprint": self.fingerprint })
    }
}

/// Returns the 409 for a claim with another run's key.
pub(super) fn repeated_key(first: &First) -> Refusal {
    Refusal::conflict(
        json!({ "ok": false, "reason": "repeated-key", "first": first.json() }).to_string(),
    )
}

fn subject(fields: &Map<String, Json>) -> Result<String, Refusal> {
    field(
        fields,
        "subject",
        |text| !text.is_empty(),
        "must be a non-empty string",
    )
}

fn key(fields: &Map<String, Json>) -> Result<String, Refusal> {
    field(
        fields,
        "key",
        is_idempotency_key,
        "must be 1 to 255 visible ASCII characters",
    )
}

fn fingerprint(fields: &Map<String, Json>) -> Result<String, Refusal> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_digest = |text: &str| text.len() == FINGERPRINT_DIGITS && text.bytes().all(is_digit);
    field(
        fields,
        "fingerprint",
        is_digest,
        "must be 64 lower-case hexadecimal digits",
    )
}

fn field(
    fields: &Map<String, Json>,
    name: &str,
    is_valid: impl Fn(&str) -> bool,
    rule: &str,
) -> Result<String, Refusal> {
    let text = fields
        .get(name)
        .and_then(Json::as_str)
        .filter(|text| is_valid(text));
    text.map(str::to_owned)
        .ok_or_else(|| Refusal::field(name, rule))
}
