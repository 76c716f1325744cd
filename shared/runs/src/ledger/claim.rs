//! Makes a run live on its thread: `{ ok: true }`, or 409 with the thread's current owner.
//!
//! A claim is idempotent: repeated by the run and generation that already own the thread, it
//! succeeds without a write and does not extend the lease. A claim with another run's idempotency
//! key is a 409 that names this run.

use serde_json::{Map, Value as Json, json};

use ars_sql::{Row, Sql, SqlError, Value};
use ars_store::{
    Refusal, StoreFailure,
    json::{number, parse_body},
};
use ars_types::{Generation, RunId, UnixMillis};

use super::{
    answers::OK,
    idempotency::{Keyed, repeated_key},
    request::{generation, lease_ms, object},
};
use crate::RunStore;

/// Maximum length of a thread key in characters.
pub(super) const MAX_THREAD_CHARS: usize = 256;

/// A valid claim. All fields but the names are JSON texts.
struct Claim {
    run: RunId,
    thread: String,
    generation: Generation,
    lease_ms: i64,
    started_at: f64,
    meta: String,
    card: Option<String>,
    system: String,
    tools: String,
    state: String,
    idempotency: Option<Keyed>,
}

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/claim` request.
    pub(crate) fn claim(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let claim = Claim::read(&parse_body(body)?)?;
        if let Some(keyed) = &claim.idempotency
            && let Some(first) = self.first_of(&keyed.subject, &keyed.key, now)?
            && first.run_id != claim.run.as_str()
        {
            return Err(repeated_key(&first).into());
        }
        // A run id that is live elsewhere is rejected like an owned thread: its row names the run.
        let holder = "SELECT live.run_id, live.owner_gen, live.started_at, live.thread_key, \
                      CASE WHEN json_type(spec.meta, '$.agent') = 'text' THEN spec.meta ->> '$.agent' END \
                      FROM live_runs AS live JOIN live_specs AS spec ON spec.run_id = live.run_id \
                      WHERE live.thread_key = ?1 OR live.run_id = ?2 ORDER BY live.thread_key = ?1 DESC LIMIT 1";
        let params = [
            Value::from(claim.thread.as_str()),
            Value::from(claim.run.as_str()),
        ];
        match self.sql().query(holder, &params)?.first() {
            None => self.insert(&claim, now)?,
            Some(row) if claim.is_held(row)? => {}
            Some(row) => return Err(thread_live(row)?.into()),
        }
        Ok(OK.to_owned())
    }

    fn insert(&self, claim: &Claim, now: UnixMillis) -> Result<(), SqlError> {
        let text = |text: &str| Value::from(text);
        self.sql().transaction(|| {
            self.sql().execute(
                "INSERT INTO live_runs (run_id, thread_key, owner_gen, lease_until, started_at, phase, state) \
                 VALUES (?, ?, ?, ?, ?, 'live', ?)",
                &[
                    text(claim.run.as_str()),
                    text(&claim.thread),
                    text(claim.generation.as_str()),
                    Value::from(now.saturating_add(claim.lease_ms)),
                    Value::from(claim.started_at),
                    text(&claim.state),
                ],
            )?;
            self.sql().execute(
                "INSERT INTO live_specs (run_id, meta, card, system, tools) VALUES (?, ?, ?, ?, ?)",
                &[
                    text(claim.run.as_str()),
                    text(&claim.meta),
                    Value::from(claim.card.clone()),
                    text(&claim.system),
                    text(&claim.tools),
                ],
            )?;
            match &claim.idempotency {
                Some(keyed) => self.insert_key(keyed, &claim.run, now),
                None => Ok(()),
            }
        })
    }
}

impl Claim {
    fn read(body: &Map<String, Json>) -> Result<Self, Refusal> {
        let Some(Json::Object(run)) = body.get("run") else {
            return Err(Refusal::field("run", "must be an object"));
        };
        Self::read_run(run).map_err(|refusal| refusal.within("run"))
    }

    fn read_run(run: &Map<String, Json>) -> Result<Self, Refusal> {
        let id = ars_store::request::required_run_id(run, "runId")?;
        let thread = run.get("threadKey").and_then(Json::as_str);
        let fits = |text: &&str| (1..=MAX_THREAD_CHARS).contains(&text.chars().count());
        let thread = thread.filter(fits).ok_or_else(|| {
            Refusal::field("threadKey", "must be a string of 1 to 256 characters")
        })?;
        let started_at = run.get("startedAt").and_then(number);
        let system = run.get("system").and_then(Json::as_str);
        let tools = run.get("tools").filter(|tools| tools.is_array());
        Ok(Self {
            run: id,
            thread: thread.to_owned(),
            generation: generation(run)?,
            lease_ms: lease_ms(run)?,
            started_at: started_at
                .ok_or_else(|| Refusal::field("startedAt", "must be a finite number"))?,
            meta: object(run, "meta")?,
            card: card(run)?,
            system: system
                .ok_or_else(|| Refusal::field("system", "must be a string"))?
                .to_owned(),
            tools: tools
                .ok_or_else(|| Refusal::field("tools", "must be an array"))?
                .to_string(),
            state: if run.contains_key("state") {
                object(run, "state")?
            } else {
                "{}".to_owned()
            },
            idempotency: Keyed::read(run)?,
        })
    }

    /// Returns whether this run and generation already own this thread.
    fn is_held(&self, row: &Row) -> Result<bool, SqlError> {
        Ok(row.text(0)? == self.run.as_str()
            && row.text(1)? == self.generation.as_str()
            && row.text(3)? == self.thread)
    }
}

fn card(run: &Map<String, Json>) -> Result<Option<String>, Refusal> {
    match run.get("card") {
        None | Some(Json::Null) => Ok(None),
        Some(card @ Json::Object(_)) if card["channel"].is_string() && card["ts"].is_string() => {
            Ok(Some(card.to_string()))
        }
        Some(_) => Err(Refusal::field(
            "card",
            "must be null or an object with a string channel and ts",
        )),
    }
}

fn thread_live(row: &Row) -> Result<Refusal, SqlError> {
    let started_at = row.real(2)?;
    let started_at = if started_at.fract() == 0.0 {
        json!(started_at as i64)
    } else {
        json!(started_at)
    };
    let mut live = json!({ "runId": row.text(0)? });
    if !row.is_null(4) {
        live["agent"] = json!(row.text(4)?);
    }
    live["startedAt"] = started_at;
    Ok(Refusal::conflict(
        json!({ "ok": false, "reason": "thread-live", "live": live }).to_string(),
    ))
}
