//! A live run as written by a bot. A claim, event cycles, a transcript part, a step, the state and
//! a follow-up, and then a finish and clearing the transcript.

use std::collections::BTreeMap;

use ars_tests_workerd::Client;
use serde_json::{Value, json};

use super::{
    finished::readable,
    story::{Progress, Story},
};
use crate::records::{call, now, record};

/// Events in a batch.
const BATCH: u64 = 32;
/// Events in the final record, different from the appended events.
const FINAL_EVENTS: u64 = 3;
/// Requests before the first cycle: claim, owner.
const BEFORE: u64 = 2;
/// Requests after the last cycle: finish, clear.
const AFTER: u64 = 2;
/// The generation that owns every run until the end.
const GENERATION: &str = "gen-writing";
/// The generation that reclaims them.
const NEXT: &str = "gen-next";

/// The requests in a cycle, in order.
#[derive(Clone, Copy)]
enum Request {
    Append,
    Transcript,
    Step,
    State,
    Inbox,
}

const CYCLE: [Request; 5] = [
    Request::Append,
    Request::Transcript,
    Request::Step,
    Request::State,
    Request::Inbox,
];

/// A live run's story.
pub struct Live {
    id: String,
    cycles: u64,
    started_at: u64,
    record: Value,
}

impl Live {
    /// Returns a run with this id and cycle count.
    pub fn new(id: String, cycles: u64) -> Self {
        let record = readable(record(&id, now(), FINAL_EVENTS));
        Self {
            id,
            cycles,
            started_at: now(),
            record,
        }
    }

    /// Reads the run's visible state, including the ledger row.
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

    /// Returns how many of the first `done` requests have this kind.
    fn count(&self, done: u64, request: Request) -> u64 {
        let cycle = CYCLE.len() as u64;
        let into = done.saturating_sub(BEFORE);
        (into / cycle + u64::from(into % cycle > request as u64)).min(self.cycles)
    }

    fn is_live(&self, done: u64) -> bool {
        done >= 1 && done + AFTER <= self.len()
    }

    /// Returns the expected entry after a reclaim.
    fn reclaimed(&self, done: u64) -> Value {
        let count = |request| self.count(done, request);
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
            body.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
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
                    Request::Transcript => {
                        owned("/runs/transcript/write", transcript(cycle..cycle + 1))
                    }
                    Request::Step => owned("/runs/step", json!({ "record": step(cycle) })),
                    Request::State => owned("/runs/state", json!({ "state": state(cycle) })),
                    Request::Inbox => owned("/runs/inbox", json!({ "message": follow_up(cycle) })),
                }
            }
        }
    }

    fn after(&self, done: u64) -> Value {
        let count = |request| self.count(done, request);
        let is_finished = done + 1 >= self.len();
        let parts = if done == self.len() {
            0
        } else {
            count(Request::Transcript)
        };
        json!({
            "row": self.is_live(done).then(|| self.row(GENERATION, count(Request::State))),
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
    (cycle * BATCH + 1..=(cycle + 1) * BATCH)
        .map(event)
        .collect()
}

/// Returns two parts and an attachment per cycle.
fn transcript(cycles: std::ops::Range<u64>) -> Value {
    let part = |cycle: u64, part: u64| json!({ "idx": cycle, "part": part, "json": format!("[{cycle},\"é\\n\"]") });
    let attachment = |cycle: u64| json!({ "ref": format!("a{cycle}"), "mediaType": "image/png", "data": "A".repeat(500) });
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

/// Returns the cursor for consumed follow-ups: all but the newest.
fn consumed(cycle: u64) -> u64 {
    cycle.saturating_sub(1)
}

fn state(cycle: u64) -> Value {
    json!({ "cycle": cycle, "note": "é ".repeat(200) })
}

fn follow_up(cycle: u64) -> Value {
    json!({ "text": format!("and {cycle} more ✓") })
}

/// Returns the ledger rows by run. Leases follow the Worker's clock.
pub fn ledger(client: &Client) -> BTreeMap<String, Value> {
    by_run(&call(client, "/runs/live", json!({})), |row| row)
}

/// Reclaims every live run by another generation, and checks the last steps and unread follow-ups.
pub fn check_reclaim(client: &Client, stories: &mut [Progress<Live>]) {
    let request = json!({ "gen": NEXT, "leaseMs": 1000, "now": now() + 3_600_000 });
    let reclaimed = by_run(&call(client, "/runs/reclaim", request), |reclaimed| {
        &mut reclaimed["row"]
    });
    let live: Vec<_> = stories
        .iter_mut()
        .filter(|progress| progress.story.is_live(progress.done))
        .collect();
    assert_eq!(
        reclaimed.len(),
        live.len(),
        "each live run is reclaimed, and no other"
    );
    for progress in live {
        progress.check_state(&reclaimed[&progress.story.id], Live::reclaimed);
    }
}

/// Returns runs by id, without their leases.
fn by_run(answer: &Value, row: impl Fn(&mut Value) -> &mut Value) -> BTreeMap<String, Value> {
    let entry = |run: &Value| {
        let mut run = run.clone();
        let row = row(&mut run).as_object_mut().unwrap();
        row.shift_remove("leaseUntil");
        (row["runId"].as_str().unwrap().to_owned(), run)
    };
    answer["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(entry)
        .collect()
}
