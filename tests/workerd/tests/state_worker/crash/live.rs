//! A live run as a bot has it: claimed; in each cycle events, a part of its transcript, a step, its state and a
//! follow-up; finished, and its transcript cleared.

use std::collections::BTreeMap;

use ars_tests_workerd::Client;
use serde_json::{Value, json};

use super::{
    finished::readable,
    story::{Story, Told},
};
use crate::records::{call, now, record};

/// Events of a batch.
const BATCH: u64 = 32;
/// Events of the record at the end: not those that were appended.
const EVENTS_AT_THE_END: u64 = 3;
/// Requests before the first cycle: claim, owner.
const BEFORE: u64 = 2;
/// Requests after the last one: finish, clear.
const AFTER: u64 = 2;
/// The generation that owns every run until the end.
const GENERATION: &str = "gen-writing";
/// The generation that takes them over.
const NEXT: &str = "gen-next";

/// The requests of a cycle, in their order.
#[derive(Clone, Copy)]
enum Request {
    Append,
    Transcript,
    Step,
    State,
    Inbox,
}

const CYCLE: [Request; 5] =
    [Request::Append, Request::Transcript, Request::Step, Request::State, Request::Inbox];

/// A run.
pub struct Live {
    id: String,
    cycles: u64,
    started_at: u64,
    record: Value,
}

impl Live {
    /// One with this id and this many cycles.
    pub fn new(id: String, cycles: u64) -> Self {
        let record = readable(record(&id, now(), EVENTS_AT_THE_END));
        Self { id, cycles, started_at: now(), record }
    }

    /// What can be read of it, with its row of the ledger.
    pub fn seen(&self, client: &Client, ledger: &BTreeMap<String, Value>) -> Value {
        let run = json!({ "runId": self.id });
        json!({
            "row": ledger.get(&self.id),
            "events": call(client, "/runs/live-events", run.clone())["events"],
            "transcript": call(client, "/runs/transcript/read", run),
            "record": call(client, "/runs/get", json!({ "id": self.id }))["record"],
        })
    }

    fn claim(&self) -> Value {
        json!({
            "runId": self.id, "threadKey": self.id, "gen": GENERATION, "leaseMs": 1000,
            "startedAt": self.started_at, "meta": { "agent": "coding" }, "system": "be brief ✓", "tools": [{}],
        })
    }

    fn row(&self, owner: &str, states: u64) -> Value {
        let claim = self.claim();
        json!({
            "runId": self.id, "threadKey": self.id, "ownerGen": owner, "startedAt": self.started_at,
            "phase": "live", "stop": null, "meta": claim["meta"], "card": null, "system": claim["system"],
            "tools": claim["tools"],
            "state": states.checked_sub(1).map_or(json!({}), state),
        })
    }

    /// How many of a cycle's requests of one kind are among the first `told` of all.
    fn count(&self, told: u64, request: Request) -> u64 {
        let cycle = CYCLE.len() as u64;
        let into = told.saturating_sub(BEFORE);
        (into / cycle + u64::from(into % cycle > request as u64)).min(self.cycles)
    }

    fn is_live(&self, told: u64) -> bool {
        told >= 1 && told + AFTER <= self.len()
    }

    /// What the next generation gets.
    fn reclaimed(&self, told: u64) -> Value {
        let count = |request| self.count(told, request);
        let steps = count(Request::Step);
        let consumed = steps.checked_sub(1).map_or(0, consumed);
        let inbox: Vec<_> = (consumed..count(Request::Inbox))
            .map(|nth| json!({ "seq": nth + 1, "message": follow_up(nth) }))
            .collect();
        json!({
            "row": self.row(NEXT, count(Request::State)),
            "reclaimedFrom": "live",
            "lastStep": steps.checked_sub(1).map(step),
            "inbox": inbox,
            "jobs": [],
        })
    }
}

impl Story for Live {
    fn name(&self) -> &str {
        &self.id
    }

    fn len(&self) -> u64 {
        BEFORE + self.cycles * CYCLE.len() as u64 + AFTER
    }

    fn request(&self, nth: u64) -> (&'static str, Value) {
        let owned = |path, more: Value| {
            let mut body = json!({ "runId": self.id, "gen": GENERATION });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            (path, body)
        };
        let from_end = self.len() - nth;
        match (nth, from_end) {
            (0, _) => ("/runs/claim", json!({ "run": self.claim() })),
            (1, _) => owned("/runs/transcript/owner", json!({})),
            (_, 2) => owned("/runs/finish", json!({ "record": self.record })),
            (_, 1) => ("/runs/transcript/clear", json!({ "runId": self.id })),
            _ => {
                let cycle = (nth - BEFORE) / CYCLE.len() as u64;
                match CYCLE[(nth - BEFORE) as usize % CYCLE.len()] {
                    Request::Append => owned("/runs/append", json!({ "events": events(cycle) })),
                    Request::Transcript => owned("/runs/transcript/write", transcript(cycle..cycle + 1)),
                    Request::Step => owned("/runs/step", json!({ "record": step(cycle) })),
                    Request::State => owned("/runs/state", json!({ "state": state(cycle) })),
                    Request::Inbox => owned("/runs/inbox", json!({ "message": follow_up(cycle) })),
                }
            }
        }
    }

    fn after(&self, told: u64) -> Value {
        let count = |request| self.count(told, request);
        let is_finished = told + 1 >= self.len();
        let parts = if told == self.len() { 0 } else { count(Request::Transcript) };
        json!({
            "row": self.is_live(told).then(|| self.row(GENERATION, count(Request::State))),
            "events": match is_finished {
                true => self.record["events"].clone(),
                false => (0..count(Request::Append)).flat_map(events).collect(),
            },
            "transcript": transcript(0..parts),
            "record": is_finished.then_some(&self.record),
        })
    }
}

fn events(cycle: u64) -> Vec<Value> {
    let event = |n| json!({ "seq": n, "type": "text", "text": format!("line {n} of many ✓") });
    (cycle * BATCH + 1..=(cycle + 1) * BATCH).map(event).collect()
}

/// Two parts and an attachment of each cycle.
fn transcript(cycles: std::ops::Range<u64>) -> Value {
    let part =
        |cycle: u64, part: u64| json!({ "idx": cycle, "part": part, "json": format!("[{cycle},\"é\\n\"]") });
    let attachment =
        |cycle: u64| json!({ "ref": format!("a{cycle}"), "mediaType": "image/png", "data": "A".repeat(500) });
    json!({
        "rows": cycles.clone().flat_map(|cycle| [part(cycle, 0), part(cycle, 1)]).collect::<Vec<_>>(),
        "attachments": cycles.map(attachment).collect::<Vec<_>>(),
    })
}

fn step(cycle: u64) -> Value {
    json!({
        "step": cycle, "seq": (cycle + 1) * BATCH, "turnIndex": cycle, "inboxConsumedSeq": consumed(cycle),
        "remainingMs": 1000, "turn": cycle, "iteration": cycle,
        "inFlight": [{ "callId": format!("call-{cycle}"), "tool": "bash" }],
    })
}

/// Follow-ups that a step has consumed: all but the newest.
fn consumed(cycle: u64) -> u64 {
    cycle.saturating_sub(1)
}

fn state(cycle: u64) -> Value {
    json!({ "cycle": cycle, "note": "é ".repeat(200) })
}

fn follow_up(cycle: u64) -> Value {
    json!({ "text": format!("and {cycle} more ✓") })
}

/// The rows of the ledger by run. A lease goes by the Worker's clock.
pub fn ledger(client: &Client) -> BTreeMap<String, Value> {
    by_run(&call(client, "/runs/live", json!({})), |row| row)
}

/// Another generation takes every run that lives, with its last step and the follow-ups after it.
pub fn check_reclaim(client: &Client, told: &mut [Told<Live>]) {
    let request = json!({ "gen": NEXT, "leaseMs": 1000, "now": now() + 3_600_000 });
    let taken = by_run(&call(client, "/runs/reclaim", request), |taken| &mut taken["row"]);
    let live: Vec<_> = told.iter_mut().filter(|told| told.story.is_live(told.done)).collect();
    assert_eq!(taken.len(), live.len(), "each live run is taken, and no other");
    for told in live {
        told.hold_to(&taken[&told.story.id], Live::reclaimed);
    }
}

/// Runs by their id, without their leases.
fn by_run(answer: &Value, row: impl Fn(&mut Value) -> &mut Value) -> BTreeMap<String, Value> {
    let entry = |run: &Value| {
        let mut run = run.clone();
        let row = row(&mut run).as_object_mut().unwrap();
        row.shift_remove("leaseUntil");
        (row["runId"].as_str().unwrap().to_owned(), run)
    };
    answer["runs"].as_array().unwrap().iter().map(entry).collect()
}
