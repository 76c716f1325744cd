//! Appends events to many runs of one generation, extends their leases, and tells each run of its stop and of its
//! follow-ups: `{ runs }`, in the request's order (docs/decisions/0007; for each run what state-worker supplement
//! sections 9.3 and 9.4 say of an append and of a heartbeat).
//!
//! A run that another generation owns is told so and holds up none of the others; a malformed request is refused
//! whole. There are as many statements for five hundred runs as for one, and a flush that carries no event and extends
//! no lease writes nothing. Not here: how often a bot flushes.

use std::collections::BTreeSet;

use ars_sql::{Sql, Value};
use ars_store::{
    Joined, Refusal, StoreFailure,
    json::parse_body,
    request::{integer, required_run_id},
    split::split,
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

/// The last follow-up a run may know: an integer that every party holds exactly.
const INBOX_AFTER: std::ops::RangeInclusive<i64> = 0..=9_007_199_254_740_991;
/// Bytes of follow-ups after which a run is told of no more until it asks for what comes after them. With one more of
/// the largest there may be (512 KiB), what a run is told stays one value of the edge platform (2 MB).
const MAX_INBOX: i64 = 1_000_000;

/// Extends to ?3 the leases of the runs ?2 that generation ?1 owns.
const EXTEND: &str = "UPDATE live_runs SET lease_until = ?3 WHERE owner_gen = ?1 \
                      AND run_id IN (SELECT value ->> 0 FROM json_each(?2))";

/// A request that was found sound.
struct Flush {
    generation: Generation,
    lease_ms: Option<i64>,
    /// JSON for SQLite: of each run a list of its id and the last follow-up it knows.
    runs: String,
    events: EventBatch,
}

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/flush`.
    pub(crate) fn flush(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let Flush { generation, lease_ms, runs, events } = Flush::read(body)?;
        let writes = events.statements() + usize::from(lease_ms.is_some());
        let by = Value::from(generation.as_str());
        let of = [by.clone(), Value::from(runs)];
        let flush = || {
            // What runs are told does not depend on what is written, and first, so that nothing can fail after a
            // write that stands alone.
            let told = Joined { name: "runs", rows: &told_sql(), order: "place" }.answer(self.sql(), &of)?;
            if let Some(lease_ms) = lease_ms {
                let until = Value::from(now.saturating_add(lease_ms));
                self.sql().execute(EXTEND, &[&of[..], &[until]].concat())?;
            }
            self.write_owned_events(&by, events)?;
            Ok::<_, StoreFailure>(told)
        };
        if writes > 1 { self.sql().transaction(flush) } else { flush() }
    }
}

/// SQL of what each of the runs ?2 is told, if generation ?1 owns it.
fn told_sql() -> String {
    let inbox = format!(
        "SELECT json_group_array(json_object('seq', seq, 'message', json(message)) ORDER BY seq) FROM \
         (SELECT seq, message, sum(octet_length(message)) OVER (ORDER BY seq) - octet_length(message) AS before \
         FROM live_inbox WHERE run_id = live.run_id AND seq > asked.value ->> 1) WHERE before < {MAX_INBOX}"
    );
    format!(
        "SELECT asked.key AS place, iif(live.owner_gen = ?1, json_object('runId', live.run_id, 'ok', json('true'), \
         'stop', live.stop, 'phase', live.phase, 'inbox', json(({inbox}))), json_object('runId', asked.value ->> 0, \
         'ok', json('false'), 'reason', iif(live.run_id IS NULL, 'unknown-run', 'fenced'))) AS text \
         FROM json_each(?2) AS asked LEFT JOIN live_runs AS live ON live.run_id = asked.value ->> 0"
    )
}

impl Flush {
    fn read(body: &str) -> Result<Self, Refusal> {
        let (fields, bodies) = bodies(body)?;
        let (generation, lease_ms) = (generation(&fields)?, lease_ms_if_any(&fields)?);
        if bodies.len() > MAX_FLUSHED_RUNS {
            return Err(Refusal::field("runs", "must be at most 500"));
        }
        let (mut runs, mut events, mut named) = (Vec::new(), EventBatch::default(), BTreeSet::new());
        for (index, body) in bodies.into_iter().enumerate() {
            let place = || format!("runs[{index}]");
            let (id, known) = read_run(body, &mut events).map_err(|refusal| refusal.within(&place()))?;
            runs.push(json!([id, known]));
            if !named.insert(id) {
                return Err(Refusal::field("runId", "must not stand twice").within(&place()));
            }
        }
        Ok(Self { generation, lease_ms, runs: Json::from(runs).to_string(), events })
    }
}

/// The request without its runs, and each of them.
fn bodies(body: &str) -> Result<(Map<String, Json>, Vec<EventBody<'_>>), Refusal> {
    if let Some(found) = split(body, &["runs"]) {
        let runs = found.list.iter().map(|run| EventBody::read(run.get(), &["events"]));
        if let Ok(runs) = runs.collect() {
            return Ok((found.rest, runs));
        }
    }
    let mut fields = parse_body(body)?;
    let Some(Json::Array(runs)) = fields.shift_remove("runs") else {
        return Err(Refusal::field("runs", "must be an array"));
    };
    let body = |(index, run): (usize, Json)| match run {
        Json::Object(run) => Ok(EventBody::of(run, &["events"])),
        _ => Err(Refusal::field(format!("runs[{index}]"), "must be an object")),
    };
    let runs = runs.into_iter().enumerate().map(body).collect::<Result<_, _>>()?;
    Ok((fields, runs))
}

/// Adds a run's events to the batch; its id and the last follow-up it knows.
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
