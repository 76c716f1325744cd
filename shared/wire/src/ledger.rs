//! Live-run ledger bodies.
//!
//! Clients use these types, requests within [`crate::runs::Keyed`]. The store reads requests as
//! JSON, because each field has a separate error. Columns that are opaque to the store (`meta`,
//! `state`, `tools`, messages) are JSON here too.

use ars_types::{Generation, RunId, StopMode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Moment,
    idempotency::{FirstUse, IdempotencyKey},
    whole::whole,
};

/// Duration of a bot's lease on its runs, in milliseconds.
pub const LEASE_MS: u32 = 30_000;

/// The writer of a run, part of every owner write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The run.
    pub run_id: RunId,
    /// The writer's generation, its fencing token.
    #[serde(rename = "gen")]
    pub generation: Generation,
}

/// Fields of an owner write: the writer and its data. `/runs/finishing` has the writer only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnerWrite<'a, B> {
    /// The writer.
    #[serde(flatten)]
    pub owner: &'a Owner,
    /// The route's own fields.
    #[serde(flatten)]
    pub what: B,
}

/// Fields of `/runs/claim`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRequest<R> {
    /// The run to claim on its thread.
    pub run: R,
}

/// A run to claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewRun {
    /// The run.
    pub run_id: RunId,
    /// Its thread, 1 to 256 characters.
    pub thread_key: String,
    /// The claiming generation.
    #[serde(rename = "gen")]
    pub generation: Generation,
    /// Duration of the lease, 1000 to 3600000.
    pub lease_ms: u32,
    /// Time at which the run was created.
    pub started_at: Moment,
    /// The requester, the place and the parameters of the run.
    pub meta: Map<String, Value>,
    /// The channel's message that shows the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    /// The composed system prompt.
    pub system: String,
    /// The tools' definitions.
    pub tools: Vec<Value>,
    /// The dispatcher's state; empty when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Map<String, Value>>,
    /// The idempotency key of its request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<IdempotencyKey>,
}

/// Where a channel shows a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The channel.
    pub channel: String,
    /// The message's stamp.
    pub ts: String,
}

/// Field of a heartbeat, and of a reclaim beside its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Duration of the lease from now, 1000 to 3600000.
    pub lease_ms: u32,
}

/// Answer of `/runs/heartbeat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beat {
    /// The requested stop; null without one, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub stop: Option<StopMode>,
    /// Its phase.
    pub phase: Phase,
    /// The requester of the stop, if the request named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_actor: Option<StopActor>,
}

/// Phases of a live run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Running.
    Live,
    /// Offered to the next generation.
    Handoff,
    /// Holds the reply permit.
    Finishing,
}

/// Field of `/runs/append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Events<E> {
    /// Events, each an object with its `seq`.
    pub events: E,
}

/// Most runs of one flush (docs/decisions/0007), more than twice the capacity of one bot process.
pub const MAX_FLUSHED_RUNS: usize = 500;

/// Fields of `/runs/flush`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlushRequest<'a, R> {
    /// The owner's generation.
    #[serde(rename = "gen")]
    pub generation: &'a Generation,
    /// Duration of each lease from now, 1000 to 3600000; without it leases are unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// The runs without duplicates, at most [`MAX_FLUSHED_RUNS`].
    pub runs: R,
}

/// One run's part of a flush.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunNews<'a, E> {
    /// The run.
    pub run_id: &'a RunId,
    /// Events, each an object with its `seq`.
    pub events: E,
    /// The last known follow-up. The answer contains later ones.
    pub inbox_after: u64,
}

/// The result of one run's part of a flush, in the request's order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFlushed {
    /// The run.
    pub run_id: RunId,
    /// The writer owns it.
    pub ok: bool,
    /// The result, or the conflict.
    #[serde(flatten)]
    pub outcome: FlushOutcome,
}

/// The result of one run's part of a flush.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FlushOutcome {
    /// Written.
    Done {
        /// The requested stop and the phase.
        #[serde(flatten)]
        beat: Beat,
        /// Follow-ups after the last known one, oldest first, up to a limit.
        inbox: Vec<Followup>,
    },
    /// Nothing was written.
    Lost(Conflict),
}

/// Field of `/runs/step`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step<R> {
    /// The record.
    pub record: R,
}

/// The state of a run's loop after a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// The step; its key.
    #[serde(deserialize_with = "whole")]
    pub step: u64,
    /// The last event's seq.
    #[serde(deserialize_with = "whole")]
    pub seq: u64,
    /// Turns of the transcript.
    #[serde(deserialize_with = "whole")]
    pub turn_index: u64,
    /// Calls in flight: dispatched, without a stored result.
    pub in_flight: Vec<Call>,
    /// The last consumed follow-up.
    #[serde(deserialize_with = "whole")]
    pub inbox_consumed_seq: u64,
    /// The remaining time of the run.
    #[serde(deserialize_with = "whole")]
    pub remaining_ms: u64,
    /// The turn counted against the budget.
    #[serde(deserialize_with = "whole")]
    pub turn: u64,
    /// The model calls made.
    #[serde(deserialize_with = "whole")]
    pub iteration: u64,
    /// Fields of a later version, preserved.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A tool call in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The call.
    pub call_id: String,
    /// Its tool.
    pub tool: String,
}

/// Field of `/runs/state`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State<S> {
    /// The new dispatcher's state.
    pub state: S,
}

/// Answer of `/runs/finish`. Its fields are the writer's and those of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishResponse {
    /// The record is within the retention.
    pub stored: bool,
}

/// Fields of the routes that name a run and no generation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfRun<'a, B> {
    /// The run.
    pub run_id: &'a RunId,
    /// The route's own fields.
    #[serde(flatten)]
    pub what: B,
}

/// No fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// Field of `/runs/live-events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterSeq {
    /// Only events after it.
    pub after_seq: u64,
}

/// Fields of `/runs/stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The mode.
    pub mode: StopMode,
    /// The requester, if it is known. A store of an earlier version ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<StopActor>,
}

/// The requester of a stop, for the note of the run's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopActor {
    /// Surface of the request.
    pub kind: String,
    /// Its name there.
    pub id: String,
}

/// Answer of `/runs/stop`; without `ownerLive` when the run is not live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopResponse {
    /// The run is live.
    pub ok: bool,
    /// Its owner's lease has not expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_live: Option<bool>,
}

/// Unread follow-ups of a run, from all processes.
pub const MAX_UNREAD: u32 = 200;

/// Field of `/runs/inbox`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message<M> {
    /// The follow-up.
    pub message: M,
}

/// Answer of `/runs/inbox`; without `seq` when the run is not live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxResponse {
    /// The run is live.
    pub ok: bool,
    /// The follow-up's number, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// Fields of `/runs/handoff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandoffRequest<'a> {
    /// The owner's generation.
    #[serde(rename = "gen")]
    pub generation: &'a Generation,
    /// The runs.
    pub run_ids: &'a [RunId],
}

/// Answer of `/runs/handoff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffResponse {
    /// The runs now offered, in the request's order.
    pub marked: Vec<RunId>,
}

/// Fields of `/runs/reclaim`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReclaimRequest<'a> {
    /// The reclaiming generation.
    #[serde(rename = "gen")]
    pub generation: &'a Generation,
    /// Duration of its leases, 1000 to 3600000.
    pub lease_ms: u32,
    /// Replaces the store's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Moment>,
    /// Excluded runs: this process has not noticed that it was fenced out of them (docs/decisions/0011).
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub except: &'a [RunId],
}

/// Field of `/runs/live` that limits it to one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfThread<'a> {
    /// The thread.
    pub thread_key: &'a str,
}

/// Answer of `/runs/live`; `R` is [`Reclaimed`] for `/runs/reclaim`, [`RunFlushed`] for `/runs/flush`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunsResponse<R> {
    /// The runs, earliest start first.
    pub runs: Vec<R>,
}

/// A live run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRun {
    /// The run.
    pub run_id: RunId,
    /// Its thread.
    pub thread_key: String,
    /// The generation that may write.
    pub owner_gen: Generation,
    /// The end of the lease, after which it may be reclaimed.
    pub lease_until: Moment,
    /// Time at which it was created.
    pub started_at: Moment,
    /// Its phase.
    pub phase: Phase,
    /// The requested stop.
    pub stop: Option<StopMode>,
    /// The requester, the place and the parameters of the run.
    pub meta: Map<String, Value>,
    /// The channel's message that shows it.
    pub card: Option<Card>,
    /// The composed system prompt.
    pub system: String,
    /// The tools' definitions.
    pub tools: Vec<Value>,
    /// The dispatcher's state.
    pub state: Map<String, Value>,
}

/// A reclaimed run with the data that its new owner needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reclaimed {
    /// The run after the reclaim.
    pub row: LiveRun,
    /// Its phase before.
    pub reclaimed_from: Phase,
    /// Its highest step.
    pub last_step: Option<StepRecord>,
    /// Follow-ups not consumed by that step.
    pub inbox: Vec<Followup>,
    /// Pending post-run work.
    pub jobs: Vec<Job>,
}

/// A follow-up queued for a live run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Followup {
    /// Its number, from 1.
    pub seq: u64,
    /// The message.
    pub message: Map<String, Value>,
}

/// Post-run work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The kind of work.
    pub kind: String,
    /// The parameters.
    pub payload: Value,
}

/// Body of a 409: the request contradicts the current state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Conflict {
    /// The thread has a live run.
    ThreadLive {
        /// The live run.
        live: Holder,
    },
    /// An earlier request of the caller had the same idempotency key.
    RepeatedKey {
        /// That request.
        first: FirstUse,
    },
    /// Another generation owns the run, or the phase forbids the write.
    Fenced,
    /// The run is not live.
    UnknownRun,
}

/// The live run of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The run.
    pub run_id: RunId,
    /// Its agent, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Time at which it was created.
    pub started_at: Moment,
}

#[cfg(test)]
mod tests {
    use ars_types::StoreKey;
    use serde_json::{json, value::RawValue};

    use super::*;
    use crate::runs::Keyed;

    fn owner() -> Owner {
        Owner {
            run_id: RunId::parse("r1").unwrap(),
            generation: Generation::parse("g1").unwrap(),
        }
    }

    #[test]
    fn owner_writes_travel_flat() {
        let store_key = StoreKey::parse(crate::runs::DEFAULT_STORE).unwrap();
        let event = RawValue::from_string(r#"{"seq":1,  "type":"x"}"#.to_owned()).unwrap();
        let what = Events { events: [&*event] };
        let body = Keyed {
            store_key: &store_key,
            body: OwnerWrite {
                owner: &owner(),
                what,
            },
        };
        assert_eq!(
            serde_json::to_string(&body).unwrap(),
            r#"{"storeKey":"runs:default","runId":"r1","gen":"g1","events":[{"seq":1,  "type":"x"}]}"#
        );
        let body = Keyed {
            store_key: &store_key,
            body: OwnerWrite {
                owner: &owner(),
                what: Nothing {},
            },
        };
        let text = r#"{"storeKey":"runs:default","runId":"r1","gen":"g1"}"#;
        assert_eq!(serde_json::to_string(&body).unwrap(), text);
    }

    #[test]
    fn flush_keeps_event_bytes() {
        let generation = Generation::parse("g1").unwrap();
        let run_id = &RunId::parse("r1").unwrap();
        let event = RawValue::from_string(r#"{"seq":1,  "type":"x"}"#.to_owned()).unwrap();
        let flush = |lease_ms| {
            let runs = [RunNews {
                run_id,
                events: [&*event],
                inbox_after: 2,
            }];
            serde_json::to_string(&FlushRequest {
                generation: &generation,
                lease_ms,
                runs,
            })
            .unwrap()
        };
        let runs = r#""runs":[{"runId":"r1","events":[{"seq":1,  "type":"x"}],"inboxAfter":2}]}"#;
        assert_eq!(flush(None), format!(r#"{{"gen":"g1",{runs}"#));
        assert_eq!(
            flush(Some(LEASE_MS)),
            format!(r#"{{"gen":"g1","leaseMs":30000,{runs}"#)
        );
    }

    #[test]
    fn flush_result_round_trips() {
        let run_id = RunId::parse("r1").unwrap();
        let message = serde_json::from_value(json!({ "text": "more" })).unwrap();
        let beat = Beat {
            stop: Some(StopMode::Soft),
            phase: Phase::Live,
            stop_actor: None,
        };
        let done = FlushOutcome::Done {
            beat,
            inbox: vec![Followup { seq: 1, message }],
        };
        let answer = json!({ "runId": "r1", "ok": true, "stop": "soft", "phase": "live",
            "inbox": [{ "seq": 1, "message": { "text": "more" } }] });
        let lost = FlushOutcome::Lost(Conflict::Fenced);
        let refusal = json!({ "runId": "r1", "ok": false, "reason": "fenced" });
        for (ok, outcome, text) in [(true, done, answer), (false, lost, refusal)] {
            let flushed = RunFlushed {
                run_id: run_id.clone(),
                ok,
                outcome,
            };
            assert_eq!(serde_json::to_value(&flushed).unwrap(), text);
            assert_eq!(serde_json::from_value::<RunFlushed>(text).unwrap(), flushed);
        }
    }

    #[test]
    fn step_record_preserves_unknown_fields() {
        let record = json!({ "step": 2.0, "seq": 1e1, "turnIndex": 3, "inFlight": [{ "callId": "c", "tool": "bash" }],
            "inboxConsumedSeq": 0, "remainingMs": 5, "turn": 1, "iteration": 1, "later": [1] });
        let read: StepRecord = serde_json::from_value(record.clone()).unwrap();
        assert_eq!(
            (read.step, read.seq, &read.extra["later"]),
            (2, 10, &json!([1]))
        );
        for broken in [json!(-1), json!(1.5), json!("1"), json!(null)] {
            let mut record = record.clone();
            record["turn"] = broken;
            assert!(serde_json::from_value::<StepRecord>(record).is_err());
        }
    }

    #[test]
    fn conflicts_have_the_specified_reasons() {
        let live = json!({ "ok": false, "reason": "thread-live", "live": { "runId": "r", "startedAt": 5 } });
        let holder = Holder {
            run_id: RunId::parse("r").unwrap(),
            agent: None,
            started_at: Moment::from(5),
        };
        assert_eq!(
            serde_json::from_value::<Conflict>(live).unwrap(),
            Conflict::ThreadLive { live: holder }
        );
        let of = |reason: &str| {
            serde_json::from_value::<Conflict>(json!({ "ok": false, "reason": reason })).ok()
        };
        assert_eq!(of("fenced"), Some(Conflict::Fenced));
        assert_eq!(of("unknown-run"), Some(Conflict::UnknownRun));
        assert_eq!((of("thread-live"), of("else")), (None, None));
        let first = FirstUse {
            run_id: RunId::parse("r").unwrap(),
            fingerprint: "f".into(),
        };
        let repeated = json!({ "ok": false, "reason": "repeated-key", "first": { "runId": "r", "fingerprint": "f" } });
        assert_eq!(
            serde_json::from_value::<Conflict>(repeated).unwrap(),
            Conflict::RepeatedKey { first }
        );
    }
}
