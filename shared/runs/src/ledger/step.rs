//! Stores a step record. A repeated step replaces it.

use serde_json::{Map, Value as Json};

use ars_sql::{Sql, Value};
use ars_store::{Refusal, StoreFailure, json::whole};

use super::{
    answers::OK,
    fence::{generation, run},
    request::OwnerWrite,
};
use crate::RunStore;

/// Counters in a step record, all integers and at least 0. The first is the key.
const COUNTERS: [&str; 7] = [
    "step",
    "seq",
    "turnIndex",
    "inboxConsumedSeq",
    "remainingMs",
    "turn",
    "iteration",
];

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/step` request.
    pub(crate) fn step(&self, body: &str) -> Result<String, StoreFailure> {
        let write = OwnerWrite::read(body)?;
        let Some(record @ Json::Object(fields)) = write.body.get("record") else {
            return Err(Refusal::field("record", "must be an object").into());
        };
        check(fields)?;
        let step = fields.get(COUNTERS[0]).and_then(whole).unwrap_or_default();
        let statement = "INSERT OR REPLACE INTO live_steps (run_id, step, record) \
                         SELECT run_id, CAST(?3 AS INTEGER), ?4 FROM live_runs \
                         WHERE run_id = ?1 AND owner_gen = ?2 RETURNING 1";
        let params = [
            run(&write),
            generation(&write),
            Value::from(step),
            Value::from(record.to_string()),
        ];
        self.owned(&write, statement, &params)?;
        Ok(OK.to_owned())
    }
}

fn check(record: &Map<String, Json>) -> Result<(), Refusal> {
    for name in COUNTERS {
        if record
            .get(name)
            .and_then(whole)
            .is_none_or(|count| count < 0)
        {
            return Err(Refusal::field(
                format!("record.{name}"),
                "must be an integer of at least 0",
            ));
        }
    }
    let Some(Json::Array(in_flight)) = record.get("inFlight") else {
        return Err(Refusal::field("record.inFlight", "must be an array"));
    };
    let named = |call: &Json| call["callId"].is_string() && call["tool"].is_string();
    match in_flight.iter().position(|call| !named(call)) {
        Some(index) => Err(Refusal::field(
            format!("record.inFlight[{index}]"),
            "must be an object with a string callId and tool",
        )),
        None => Ok(()),
    }
}
