//! Appends events to many runs of the same generation and extends their leases: `{ runs }`.
//!
//! Each run's entry has its stop request and follow-ups, in the request's order
//! (docs/decisions/0007). A run that another generation owns is reported as such and does not
//! affect the others. A malformed request is rejected whole. The number of statements does not
//! depend on the number of runs, and a flush without events and without a lease writes nothing. Not
//! here: the bot's flush interval.

use std::collections::BTreeSet;

use ars_sql::{Sql, Value};
use ars_store::{
    JsonListAnswer, Refusal, StoreFailure,
    json::parse_body,
    request::{integer, required_run_id},
    split::split_body,
};
use ars_types::{Generation, RunId, UnixMillis};
use ars_wire::ledger::MAX_FLUSHED_RUNS;
use serde_json::{Map, Value as Json, json};

use super::{
    append::seq,
    request::{generation, lease_ms_if_any},
};
use crate::{
    RunStore,
    store::{EventBatch, EventBody},
};

/// Follow-up cursor range: integers that a double represents exactly.
const INBOX_AFTER: std::ops::RangeInclusive<i64> = 0..=9_007_199_254_740_991;
/// Follow-up bytes after which the rest waits for the next request. With another follow-up at the
/// maximum size (512 KiB), a run's entry still fits into a single value on the edge platform (2
/// MB).
const MAX_INBOX: i64 = 1_000_000;

/// Extends to ?3 the leases on the runs ?2 that generation ?1 owns.
const EXTEND: &str = "UPDATE live_runs SET lease_until = ?3 WHERE owner_gen = ?1 \
                      AND run_id IN (SELECT value ->> 0 FROM json_each(?2))";

/// A request that passed validation.
struct Flush {
    generation: Generation,
    lease_ms: Option<i64>,
    /// JSON for SQLite: a list of `[run id, follow-up cursor]`.
    runs: String,
    events: EventBatch,
}

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/flush` request.
    pub(crate) fn flush(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let Flush {
            generation,
            lease_ms,
            runs,
            events,
        } = Flush::read(body)?;
        let writes = events.statements() + usize::from(lease_ms.is_some());
        let by = Value::from(generation.as_str());
        let of = [by.clone(), Value::from(runs)];
        let flush = || {
            // The answer does not depend on the writes. It is read first, so that no error can follow a write that
            // runs outside a transaction.
            let answer = JsonListAnswer {
                name: "runs",
                rows: &answer_sql(),
                order: "place",
            }
            .answer(self.sql(), &of)?;
            if let Some(lease_ms) = lease_ms {
                let until = Value::from(now.saturating_add(lease_ms));
                self.sql().execute(EXTEND, &[&of[..], &[until]].concat())?;
            }
            self.write_owned_events(&by, events)?;
            Ok::<_, StoreFailure>(answer)
        };
        if writes > 1 {
            self.sql().transaction(flush)
        } else {
            flush()
        }
    }
}

/// Returns the response SQL for each run in ?2, if generation ?1 owns it.
fn answer_sql() -> String {
    let inbox = format!(
        "SELECT json_group_array(json_object('seq', seq, 'message', json(message)) ORDER BY seq) FROM \
         (SELECT seq, message, sum(octet_length(message)) OVER (ORDER BY seq) - octet_length(message) AS before \
         FROM live_inbox WHERE run_id = live.run_id AND seq > asked.value ->> 1) WHERE before < {MAX_INBOX}"
    );
    let owned = format!(
        "'runId', live.run_id, 'ok', json('true'), 'stop', live.stop, 'phase', live.phase, 'inbox', json(({inbox}))"
    );
    format!(
        "SELECT asked.key AS place, CASE WHEN live.owner_gen = ?1 AND live.stop_actor IS NOT NULL \
         THEN json_object({owned}, 'stopActor', json(live.stop_actor)) \
         WHEN live.owner_gen = ?1 THEN json_object({owned}) \
         ELSE json_object('runId', asked.value ->> 0, \
         'ok', json('false'), 'reason', iif(live.run_id IS NULL, 'unknown-run', 'fenced')) END AS text \
         FROM json_each(?2) AS asked LEFT JOIN live_runs AS live ON live.run_id = asked.value ->> 0"
    )
}

impl Flush {
    fn read(body: &str) -> Result<Self, Refusal> {
        let (fields, bodies) = bodies(body)?;
        let generation = generation(&fields)?;
        let lease_ms = lease_ms_if_any(&fields)?;
        if bodies.len() > MAX_FLUSHED_RUNS {
            return Err(Refusal::field("runs", "must be at most 500"));
        }
        let mut runs = Vec::new();
        let mut events = EventBatch::default();
        let mut named = BTreeSet::new();
        for (index, body) in bodies.into_iter().enumerate() {
            let place = || format!("runs[{index}]");
            let (id, known) =
                read_run(body, &mut events).map_err(|refusal| refusal.within(&place()))?;
            runs.push(json!([id, known]));
            if !named.insert(id) {
                return Err(Refusal::field("runId", "must be unique").within(&place()));
            }
        }
        Ok(Self {
            generation,
            lease_ms,
            runs: Json::from(runs).to_string(),
            events,
        })
    }
}

/// Splits the request into its fields and its runs' bodies.
fn bodies(body: &str) -> Result<(Map<String, Json>, Vec<EventBody<'_>>), Refusal> {
    if let Some(found) = split_body(body, &["runs"]) {
        let runs = found
            .list
            .iter()
            .map(|run| EventBody::read(run.get(), &["events"]));
        if let Ok(runs) = runs.collect() {
            return Ok((found.rest, runs));
        }
    }
    let mut fields = parse_body(body)?;
    let Some(Json::Array(runs)) = fields.shift_remove("runs") else {
        return Err(Refusal::field("runs", "must be an array"));
    };
    let body = |(index, run): (usize, Json)| match run {
        Json::Object(run) => Ok(EventBody::from_fields(run, &["events"])),
        _ => Err(Refusal::field(
            format!("runs[{index}]"),
            "must be an object",
        )),
    };
    let runs = runs
        .into_iter()
        .enumerate()
        .map(body)
        .collect::<Result<_, _>>()?;
    Ok((fields, runs))
}

/// Adds a run's events to the batch. Returns the run's id and follow-up cursor.
fn read_run(body: EventBody<'_>, batch: &mut EventBatch) -> Result<(RunId, i64), Refusal> {
    let EventBody { fields, events } = body;
    let id = required_run_id(&fields, "runId")?;
    let rule = "must be an integer of at least 0";
    let known = integer(&fields, "inboxAfter", INBOX_AFTER, rule)?
        .ok_or_else(|| Refusal::field("inboxAfter", rule))?;
    let events = events.ok_or_else(|| Refusal::field("events", "must be an array"))?;
    for (index, event) in events.iter().enumerate() {
        batch.push_of(&id, seq(index, event)?, &event.text);
    }
    Ok((id, known))
}
