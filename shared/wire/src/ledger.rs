//! Live-run ledger bodies (document 2 sections 2.4, 3.3 and 4.3, state-worker supplement section 9).
//!
//! Clients build and read these types, requests within [`crate::runs::Keyed`]. The store reads requests as JSON, because
//! each field has its own refusal. What the store keeps without looking into it (`meta`, `state`, `tools`, messages) is JSON here too.

use ars_types::{Generation, RunId, StopMode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Moment, whole::whole};

/// How long a bot's lease on its runs lasts, in milliseconds (section 9.1).
pub const LEASE_MS: u32 = 30_000;

/// Who writes to a run: what every owner write names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The run.
    pub run_id: RunId,
    /// The writer's generation, its fencing token.
    #[serde(rename = "gen")]
    pub generation: Generation,
}

/// Fields of an owner write: the writer, and what it writes. `/runs/finishing` has no more than the writer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnerWrite<'a, B> {
    /// Who writes.
    #[serde(flatten)]
    pub owner: &'a Owner,
    /// What.
    #[serde(flatten)]
    pub what: B,
}

/// Fields of `/runs/claim`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRequest<R> {
    /// The run that is to be live on its thread.
    pub run: R,
}

/// A run as it is claimed.
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
    /// How long the lease is to last, 1000 to 3600000.
    pub lease_ms: u32,
    /// When the run was created.
    pub started_at: Moment,
    /// Who asked for what and where.
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
    /// How long it is to last from now, 1000 to 3600000.
    pub lease_ms: u32,
}

/// Answer of `/runs/heartbeat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// How the run is asked to stop; null when it is not, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub stop: Option<StopMode>,
    /// Its phase.
    pub phase: Phase,
}

/// Phases of a live run (document 2 section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Under way.
    Live,
    /// Offered to the next generation.
    Handoff,
    /// About to reply.
    Finishing,
}

/// Field of `/runs/append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Events<E> {
    /// Events, each an object with its `seq`.
    pub events: E,
}

/// Most runs of one flush (docs/decisions/0007): more than twice what one bot process is built for.
pub const MAX_FLUSHED_RUNS: usize = 500;

/// Fields of `/runs/flush`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlushRequest<'a, R> {
    /// Whose runs.
    #[serde(rename = "gen")]
    pub generation: &'a Generation,
    /// How long every lease is to last from now, 1000 to 3600000; absent, leases stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// The runs, none of them twice, at most [`MAX_FLUSHED_RUNS`].
    pub runs: R,
}

/// What a flush carries of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunNews<'a, E> {
    /// The run.
    pub run_id: &'a RunId,
    /// Events, each an object with its `seq`.
    pub events: E,
    /// The last follow-up known; later ones are asked for.
    pub inbox_after: u64,
}

/// What a flush answers of one run, in the request's order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFlushed {
    /// The run.
    pub run_id: RunId,
    /// The writer owns it.
    pub ok: bool,
    /// What it is told, or why it is told nothing.
    #[serde(flatten)]
    pub outcome: FlushOutcome,
}

/// What became of one run's part of a flush.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FlushOutcome {
    /// Written.
    Done {
        /// As a heartbeat tells it.
        #[serde(flatten)]
        beat: Beat,
        /// Follow-ups after the last one known, oldest first; of very many, the first.
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

/// Where a run's loop stood after a step.
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
    /// Calls dispatched whose results are not stored.
    pub in_flight: Vec<Call>,
    /// The last follow-up taken from the inbox.
    #[serde(deserialize_with = "whole")]
    pub inbox_consumed_seq: u64,
    /// What is left of the run's time.
    #[serde(deserialize_with = "whole")]
    pub remaining_ms: u64,
    /// The turn counted against the budget.
    #[serde(deserialize_with = "whole")]
    pub turn: u64,
    /// The model calls made.
    #[serde(deserialize_with = "whole")]
    pub iteration: u64,
    /// Fields of a later version, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A tool call under way.
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
    /// What replaces the dispatcher's state.
    pub state: S,
}

/// Answer of `/runs/finish`. Its fields are the writer's and those of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishResponse {
    /// The record survived the retention.
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

/// Field of `/runs/stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// How.
    pub mode: StopMode,
}

/// Answer of `/runs/stop`; without `ownerLive` when the run is not live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopResponse {
    /// The run is live.
    pub ok: bool,
    /// Its owner's lease has not lapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_live: Option<bool>,
}

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
    /// Whose runs.
    #[serde(rename = "gen")]
    pub generation: &'a Generation,
    /// Which.
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
    /// Who takes over.
    #[serde(rename = "gen")]
    pub generation: &'a Generation,
    /// How long its leases are to last, 1000 to 3600000.
    pub lease_ms: u32,
    /// What counts as now; the store's clock when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Moment>,
    /// Not these: it is still at work on them, having missed that it lost them (docs/decisions/0011).
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub except: &'a [RunId],
}

/// Answer of `/runs/live`, with `R` = [`Reclaimed`] of `/runs/reclaim`, and with [`RunFlushed`] of `/runs/flush`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunsResponse<R> {
    /// The runs, earliest start first.
    pub runs: Vec<R>,
}

/// A live run (section 9.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRun {
    /// The run.
    pub run_id: RunId,
    /// Its thread.
    pub thread_key: String,
    /// The generation that may write.
    pub owner_gen: Generation,
    /// When it may be taken over.
    pub lease_until: Moment,
    /// When it was created.
    pub started_at: Moment,
    /// Its phase.
    pub phase: Phase,
    /// How it is asked to stop.
    pub stop: Option<StopMode>,
    /// Who asked for what and where.
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

/// A run taken over, with what its new owner needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reclaimed {
    /// The run as it is now.
    pub row: LiveRun,
    /// Its phase before.
    pub reclaimed_from: Phase,
    /// Its highest step.
    pub last_step: Option<StepRecord>,
    /// Follow-ups that step had not consumed.
    pub inbox: Vec<Followup>,
    /// Post-run work left.
    pub jobs: Vec<Job>,
}

/// A follow-up left for a live run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Followup {
    /// Its number, from 1.
    pub seq: u64,
    /// What was left.
    pub message: Map<String, Value>,
}

/// Post-run work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What kind.
    pub kind: String,
    /// Its particulars.
    pub payload: Value,
}

/// Body of a 409: the request is sound, the state is against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Conflict {
    /// The thread has a live run.
    ThreadLive {
        /// Which.
        live: Holder,
    },
    /// Another generation owns the run, or its phase is against it.
    Fenced,
    /// There is no such live run.
    UnknownRun,
}

/// The run that holds a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The run.
    pub run_id: RunId,
    /// Its agent, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it was created.
    pub started_at: Moment,
}

#[cfg(test)]
mod tests {
    use ars_types::StoreKey;
    use serde_json::{json, value::RawValue};

    use super::*;
    use crate::runs::Keyed;

    fn owner() -> Owner {
        Owner { run_id: RunId::parse("r1").unwrap(), generation: Generation::parse("g1").unwrap() }
    }

    #[test]
    fn owner_writes_travel_flat() {
        let store_key = StoreKey::parse(crate::runs::DEFAULT_STORE).unwrap();
        let event = RawValue::from_string(r#"{"seq":1,  "type":"x"}"#.to_owned()).unwrap();
        let what = Events { events: [&*event] };
        let body = Keyed { store_key: &store_key, body: OwnerWrite { owner: &owner(), what } };
        assert_eq!(
            serde_json::to_string(&body).unwrap(),
            r#"{"storeKey":"runs:default","runId":"r1","gen":"g1","events":[{"seq":1,  "type":"x"}]}"#
        );
        let body = Keyed { store_key: &store_key, body: OwnerWrite { owner: &owner(), what: Nothing {} } };
        let text = r#"{"storeKey":"runs:default","runId":"r1","gen":"g1"}"#;
        assert_eq!(serde_json::to_string(&body).unwrap(), text);
    }

    #[test]
    fn a_flush_travels_with_its_events_as_they_are_and_without_a_lease_it_does_not_name() {
        let generation = Generation::parse("g1").unwrap();
        let run_id = &RunId::parse("r1").unwrap();
        let event = RawValue::from_string(r#"{"seq":1,  "type":"x"}"#.to_owned()).unwrap();
        let flush = |lease_ms| {
            let runs = [RunNews { run_id, events: [&*event], inbox_after: 2 }];
            serde_json::to_string(&FlushRequest { generation: &generation, lease_ms, runs }).unwrap()
        };
        let runs = r#""runs":[{"runId":"r1","events":[{"seq":1,  "type":"x"}],"inboxAfter":2}]}"#;
        assert_eq!(flush(None), format!(r#"{{"gen":"g1",{runs}"#));
        assert_eq!(flush(Some(LEASE_MS)), format!(r#"{{"gen":"g1","leaseMs":30000,{runs}"#));
    }

    #[test]
    fn what_a_flush_tells_of_a_run_is_read_and_written_alike() {
        let run_id = RunId::parse("r1").unwrap();
        let message = serde_json::from_value(json!({ "text": "more" })).unwrap();
        let beat = Beat { stop: Some(StopMode::Soft), phase: Phase::Live };
        let done = FlushOutcome::Done { beat, inbox: vec![Followup { seq: 1, message }] };
        let answer = json!({ "runId": "r1", "ok": true, "stop": "soft", "phase": "live",
            "inbox": [{ "seq": 1, "message": { "text": "more" } }] });
        let lost = FlushOutcome::Lost(Conflict::Fenced);
        let refusal = json!({ "runId": "r1", "ok": false, "reason": "fenced" });
        for (ok, outcome, text) in [(true, done, answer), (false, lost, refusal)] {
            let flushed = RunFlushed { run_id: run_id.clone(), ok, outcome };
            assert_eq!(serde_json::to_value(&flushed).unwrap(), text);
            assert_eq!(serde_json::from_value::<RunFlushed>(text).unwrap(), flushed);
        }
    }

    #[test]
    fn a_step_record_keeps_what_a_later_version_added_and_reads_whole_numbers_however_written() {
        let record = json!({ "step": 2.0, "seq": 1e1, "turnIndex": 3, "inFlight": [{ "callId": "c", "tool": "bash" }],
            "inboxConsumedSeq": 0, "remainingMs": 5, "turn": 1, "iteration": 1, "later": [1] });
        let read: StepRecord = serde_json::from_value(record.clone()).unwrap();
        assert_eq!((read.step, read.seq, &read.extra["later"]), (2, 10, &json!([1])));
        for broken in [json!(-1), json!(1.5), json!("1"), json!(null)] {
            let mut record = record.clone();
            record["turn"] = broken;
            assert!(serde_json::from_value::<StepRecord>(record).is_err());
        }
    }

    #[test]
    fn the_reasons_of_a_conflict_are_the_words_of_the_specification() {
        let live = json!({ "ok": false, "reason": "thread-live", "live": { "runId": "r", "startedAt": 5 } });
        let holder = Holder { run_id: RunId::parse("r").unwrap(), agent: None, started_at: Moment::from(5) };
        assert_eq!(serde_json::from_value::<Conflict>(live).unwrap(), Conflict::ThreadLive { live: holder });
        let of =
            |reason: &str| serde_json::from_value::<Conflict>(json!({ "ok": false, "reason": reason })).ok();
        assert_eq!(of("fenced"), Some(Conflict::Fenced));
        assert_eq!(of("unknown-run"), Some(Conflict::UnknownRun));
        assert_eq!((of("thread-live"), of("else")), (None, None));
    }
}
