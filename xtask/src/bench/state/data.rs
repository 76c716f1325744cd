//! The data of the bench: runs, live runs and memories, equal in every measurement except for the clock.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::compare::{Ask, Source};

/// The run store of the finished and the live runs.
pub const RUNS: &str = "bench:runs";
/// The run with many events.
pub const PAGED_RUN: &str = "run-paged";
/// The run with the largest record.
pub const LARGE_RUN: &str = "run-large";
/// Lease of the live runs: longer than the bench takes.
pub const LEASE_MS: u64 = 3_600_000;
/// Time between the ends of two runs.
const GAP_MS: i64 = 1000;
/// Events of an ordinary run.
const EVENTS: usize = 6;
const PAGED_EVENTS: usize = 5000;
/// Bytes of the large record's events, just below the limit of a record.
const LARGE_BYTES: usize = 1_572_864 - 30_000;
/// Event count of the large record's first version: a number that occurs nowhere else in it.
const VERSION: u64 = 777_000_000;
/// Records of one memory write.
const BATCH: usize = 50;
/// Words that facts consist of; the later ones are rarer.
const WORDS: u64 = 2000;
const AGENTS: [&str; 4] = ["coding", "review", "triage", "docs"];
const VISIBILITIES: [&str; 5] = ["public", "private", "dm", "machine", "unknown"];
/// Queries that a client repeats in turn.
const QUERIES: usize = 100;

/// The rest of an event of a tool call: a few hundred bytes.
const EVENT_TAIL: &str = concat!(
    r#","at":1790000000000,"callId":"call_01J8ZQ4T5V6W","tool":"bash","ok":true,"durationMs":1834,"#,
    r#""summary":"cargo test -p ars-runs","text":"running 41 tests\n.........................................\n"#,
    r#"test result: ok. 41 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.71s\n"}"#
);

/// The finished runs of the store, a second apart.
#[derive(Debug, Clone, Copy)]
pub struct History {
    count: usize,
    newest: i64,
}

impl History {
    /// So many ordinary runs, the newest of which ended a minute ago.
    pub fn new(count: usize) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        Ok(Self { count, newest: i64::try_from(now).context("the clock")? - 60_000 })
    }

    /// Requests that write all runs, the paged and the large one last.
    pub fn fill(self) -> Vec<Ask> {
        let ordinary = (0..self.count).map(|nth| put(&self.record(&run_id(nth), nth, EVENTS)));
        let paged = put(&self.record(PAGED_RUN, self.count, PAGED_EVENTS));
        ordinary.chain([paged, self.large_puts()()]).collect()
    }

    /// Puts of ordinary runs, each a new version of an existing one.
    pub fn puts(self) -> Source {
        let mut version = 0;
        Box::new(move || {
            version += 1;
            let nth = version % self.count;
            let mut record = self.record(&run_id(nth), nth, EVENTS);
            record["eventCount"] = json!(EVENTS + version);
            put(&record)
        })
    }

    /// Puts of the large record, each a new version, so that each is written in full.
    pub fn large_puts(self) -> Source {
        let mut record = self.record(LARGE_RUN, self.count + 1, LARGE_BYTES / (EVENT_TAIL.len() + 32));
        record["eventCount"] = json!(VERSION);
        let body = json!({ "storeKey": RUNS, "record": record }).to_string();
        let mut version = VERSION;
        Box::new(move || {
            version += 1;
            Ask::post("/runs/put", body.replacen(&VERSION.to_string(), &version.to_string(), 1))
        })
    }

    fn record(self, id: &str, nth: usize, events: usize) -> Value {
        let index = |nth| i64::try_from(nth).unwrap_or_default();
        let finished = self.newest + GAP_MS * (index(nth) - index(self.count));
        let event = |seq| serde_json::from_str::<Value>(&event(seq as u64)).unwrap_or_default();
        let events: Vec<_> = (1..=events).map(event).collect();
        json!({
            "id": id, "label": format!("Make the tests of part {nth} pass again"),
            "agent": AGENTS[nth % AGENTS.len()], "model": "anthropic/claude-sonnet",
            "channelId": format!("slack:C{:03}", nth % 40), "userId": format!("slack:U{:03}", nth % 25),
            "threadKey": format!("slack:C{:03}:{nth}", nth % 40), "repo": format!("acme/service-{}", nth % 8),
            "channelVisibility": VISIBILITIES[nth % VISIBILITIES.len()],
            "startedAt": finished - 184_000, "finishedAt": finished, "receivedAt": finished - 184_250,
            "replyOk": true, "stepCount": 14, "schema": 2, "status": "completed",
            "eventCount": events.len(), "storedEventCount": events.len(), "truncated": false,
            "events": events, "diagnosis": diagnosis(),
        })
    }
}

fn put(record: &Value) -> Ask {
    Ask::json("/runs/put", &json!({ "storeKey": RUNS, "record": record }))
}

fn run_id(nth: usize) -> String {
    format!("run-{nth:06}")
}

fn event(seq: u64) -> String {
    format!(r#"{{"type":"tool_result","seq":{seq}{EVENT_TAIL}"#)
}

/// A diagnosis of the analyzer, with every category.
fn diagnosis() -> Value {
    let total = |count: u32, duration_ms: u32| json!({ "count": count, "durationMs": duration_ms });
    json!({
        "eventCount": 41, "toolCalls": 12, "hasTimings": true, "runMs": 184_000, "toolTimeMs": 91_000,
        "modelTimeMs": 80_500, "verdict": "slow_tool: 1 finding, 61.0 s (67 % of tool time)",
        "byCategory": {
            "slow_tool": total(1, 61_000), "slow_model_turn": total(0, 0), "failed_tool": total(2, 4_200),
            "retry": total(1, 0), "setup_install": total(1, 18_000), "wrap_up": total(0, 0),
            "budget_hit": total(0, 0), "infra_failure": total(0, 0),
        },
        "findings": [{
            "category": "slow_tool", "severity": "high", "summary": "bash took 61 s: cargo test --workspace",
            "eventIndex": 17, "tool": "bash", "durationMs": 61_000,
        }],
    })
}

/// The claim of a live run on its own thread.
pub fn claim(run: &str) -> Ask {
    let run = json!({
        "runId": run, "threadKey": run, "gen": "g1", "leaseMs": LEASE_MS, "startedAt": 1_790_000_000_000_i64,
        "meta": { "agent": "coding", "channelId": "slack:C001", "userId": "slack:U001", "threadKey": run },
        "card": { "channel": "C001", "ts": "1790000000.000100" },
        "system": "You work on the repository that is checked out here.", "tools": [{ "name": "bash" }],
    });
    Ask::json("/runs/claim", &json!({ "storeKey": RUNS, "run": run }))
}

/// Appends of `count` events each to a live run, with increasing seqs.
pub fn appends(run: &str, count: u64) -> Source {
    let head = format!(r#"{{"storeKey":"{RUNS}","runId":"{run}","gen":"g1","events":["#);
    let mut seq = 0;
    Box::new(move || {
        let mut body = head.clone();
        for nth in 0..count {
            seq += 1;
            // Writing to a string cannot fail.
            let _ = write!(body, "{}{}", if nth == 0 { "" } else { "," }, event(seq));
        }
        body.push_str("]}");
        Ask::post("/runs/append", body)
    })
}

/// Writes that fill a scope with different facts.
pub fn memories(scope: &'static str, count: usize) -> impl Iterator<Item = Ask> {
    let mut random = Random(count as u64);
    (0..count).step_by(BATCH).map(move |first| {
        let facts: Vec<_> = (first..count.min(first + BATCH)).map(|nth| random.fact(nth)).collect();
        Ask::json("/write", &json!({ "scopeKey": scope, "records": facts, "cap": count }))
    })
}

/// Retrievals with different queries.
pub fn retrievals(scope: &str) -> Source {
    let mut random = Random(7);
    let ask = |_| json!({ "scopeKey": scope, "query": random.words(8), "limit": 8 });
    let asks: Vec<_> = (0..QUERIES).map(ask).collect();
    let mut turn = 0;
    Box::new(move || {
        turn += 1;
        Ask::json("/retrieve", &asks[turn % QUERIES])
    })
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    /// Returns a word; the first ones are the most frequent.
    fn word(&mut self) -> String {
        // Knuth's multiplier for 64 bits; the upper half is the random one.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (self.0 >> 33) as f64 / f64::from(1u32 << 31);
        format!("w{}", (share * share * share * WORDS as f64) as u64)
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn fact(&mut self, nth: usize) -> Value {
        json!({
            "kind": "fact", "text": format!("Fact {nth}: {}.", self.words(18)),
            "keywords": [self.word(), self.word()], "sourceThreadKey": format!("slack:C001:{nth}"),
            "sourceRunId": format!("run-{nth}"), "confidence": 0.8,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_continue_the_seqs() {
        let mut source = appends("r", 3);
        let mut last = || String::from_utf8(source().bytes()).unwrap();
        assert!(last().contains(r#""seq":1"#) && last().contains(r#""seq":6"#));
    }

    #[test]
    fn large_record_is_just_below_the_limit() {
        let bytes = History::new(2).unwrap().large_puts()().bytes().len();
        assert!((1_400_000..1_572_864).contains(&bytes), "{bytes}");
    }
}
