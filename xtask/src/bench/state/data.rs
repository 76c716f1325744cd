//! The data of the bench: runs as agents leave them, the same every time but for the clock they hang on.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::appends::EVENT_TAIL;
use crate::bench::load::{Ask, Source};

/// The run store that lists, pages and records are read from.
pub const RUNS: &str = "bench:runs";
/// Time between two runs' ends.
const GAP_MS: i64 = 1000;
/// Events of an ordinary run.
const EVENTS: usize = 6;
/// Events of the run that pages of events are read from: five pages.
const MANY_EVENTS: usize = 5000;
/// Bytes of the large record, nearly: document 2 section 2.3 has no larger one.
const LARGE: usize = 1_572_864 - 30_000;
/// Event count of the large record's first version: a number that stands nowhere else in it.
const VERSION: u64 = 777_000_000;
/// Run whose events are paged.
pub const PAGED: &str = "run-paged";
/// Run whose record is as large as records get.
pub const LARGE_RUN: &str = "run-large";

const AGENTS: [&str; 4] = ["coding", "review", "triage", "docs"];
const VISIBILITIES: [&str; 5] = ["public", "private", "dm", "machine", "unknown"];

/// A store's history: runs a second apart, of which the newest two are the large one and the one that is paged.
#[derive(Debug, Clone, Copy)]
pub struct History {
    /// How many ordinary runs.
    pub count: usize,
    /// When the newest finished.
    newest: i64,
}

impl History {
    /// One of so many runs that ends a minute ago.
    pub fn new(runs: usize) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        Ok(Self { count: runs.saturating_sub(2), newest: i64::try_from(now).context("the clock")? - 60_000 })
    }

    /// When the nth run finished; the 0th is the oldest.
    pub fn finished_at(&self, nth: usize) -> i64 {
        let index = |nth| i64::try_from(nth).unwrap_or_default();
        self.newest + GAP_MS * (index(nth) - index(self.count))
    }

    /// The put of the nth run.
    pub fn put(&self, nth: usize) -> Ask {
        put(&self.record(&run_id(nth), nth, &events(EVENTS)))
    }

    /// Puts of ordinary runs over those that are there, each a new version.
    pub fn puts_over(self) -> Source {
        let mut version = 0;
        Box::new(move || {
            version += 1;
            let nth = version % self.count;
            let mut record = self.record(&run_id(nth), nth, &events(EVENTS));
            record["eventCount"] = json!(EVENTS + version);
            put(&record)
        })
    }

    /// The put of the run with many events.
    pub fn put_paged(&self) -> Ask {
        put(&self.record(PAGED, self.count, &events(MANY_EVENTS)))
    }

    /// Puts of the large record. Each version differs from the one before, so that all of it is written.
    pub fn puts_large(&self) -> Result<Source> {
        let each = events(1)[0].to_string().len() + 1;
        let mut record = self.record(LARGE_RUN, self.count + 1, &events(LARGE / each));
        record["eventCount"] = json!(VERSION);
        let body = put(&record).body.unwrap_or_default();
        let (head, tail) = body.split_once(&VERSION.to_string()).context("a record without a version")?;
        let (head, tail, mut version) = (head.to_owned(), tail.to_owned(), VERSION);
        Ok(Box::new(move || {
            version += 1;
            Ask::post("/runs/put", format!("{head}{version}{tail}"))
        }))
    }

    fn record(&self, id: &str, nth: usize, events: &[Value]) -> Value {
        let finished = self.finished_at(nth);
        let mut record = json!({
            "id": id, "label": format!("Make the tests of part {nth} pass again"),
            "agent": AGENTS[nth % AGENTS.len()], "model": "anthropic/claude-sonnet",
            "channelId": format!("slack:C{:03}", nth % 40), "userId": format!("slack:U{:03}", nth % 25),
            "threadKey": format!("slack:C{:03}:{nth}", nth % 40),
            "channelVisibility": VISIBILITIES[nth % VISIBILITIES.len()],
            "startedAt": finished - 184_000, "finishedAt": finished, "receivedAt": finished - 184_250,
            "replyOk": true, "stepCount": 14, "schema": 2, "status": "completed",
            "eventCount": events.len(), "storedEventCount": events.len(), "truncated": false,
            "events": events, "diagnosis": diagnosis(),
        });
        if let Some(repo) = repo(nth) {
            record["repo"] = json!(repo);
        }
        record
    }
}

fn put(record: &Value) -> Ask {
    let policy = json!({ "retentionDays": 30, "maxRuns": 20_000, "maxBytes": 8_589_934_592_u64 });
    let body = json!({ "storeKey": RUNS, "record": record, "policy": policy, "policyUpdatedAt": 1 });
    Ask::json("/runs/put", &body)
}

/// Names the nth run.
fn run_id(nth: usize) -> String {
    format!("run-{nth:06}")
}

/// Every third run has no repository.
fn repo(nth: usize) -> Option<String> {
    (!nth.is_multiple_of(3)).then(|| format!("acme/service-{}", nth % 8))
}

fn events(count: usize) -> Vec<Value> {
    let event = |seq| serde_json::from_str(&format!(r#"{{"type":"tool_result","seq":{seq}{EVENT_TAIL}"#));
    (1..=count).filter_map(|seq| event(seq).ok()).collect()
}

/// As the analyzer makes one: with every category.
fn diagnosis() -> Value {
    let total = |count: u32, duration_ms: u32| json!({ "count": count, "durationMs": duration_ms });
    json!({
        "eventCount": 41, "toolCalls": 12, "hasTimings": true, "runMs": 184_000, "toolTimeMs": 91_000,
        "modelTimeMs": 80_500,
        "byCategory": {
            "slow_tool": total(1, 61_000), "slow_model_turn": total(0, 0), "failed_tool": total(2, 4_200),
            "retry": total(1, 0), "setup_install": total(1, 18_000), "wrap_up": total(0, 0),
            "budget_hit": total(0, 0), "infra_failure": total(0, 0),
        },
        "findings": [
            { "category": "slow_tool", "severity": "high", "summary": "bash took 61 s: cargo test --workspace",
              "eventIndex": 17, "tool": "bash", "durationMs": 61_000 },
            { "category": "failed_tool", "severity": "medium", "summary": "bash failed: cargo clippy",
              "eventIndex": 22, "tool": "bash", "durationMs": 2_100 },
        ],
        "verdict": "slow_tool: 1 finding, 61.0 s (67 % of tool time)",
    })
}

/// A predicate over runs, and which runs it allows.
pub struct Predicate {
    /// Its kind.
    pub kind: &'static str,
    /// It, on the wire.
    pub filter: Value,
    /// Whether it allows the nth run.
    pub allows: fn(usize) -> bool,
}

/// One of each kind, with lists as long as those of a member of some channels and repositories.
pub fn predicates() -> Vec<Predicate> {
    let channels = json!((0..20).map(|n| format!("slack:C{n:03}")).collect::<Vec<_>>());
    let channels = json!({ "kind": "channels-in", "channelIds": channels });
    let repos =
        json!({ "kind": "repos-in", "repos": ["acme/service-1", "acme/service-2", "acme/service-5"] });
    let user = json!({ "kind": "user-is", "userId": "slack:U007" });
    let words = json!({ "kind": "visibility-in", "visibilities": ["public", "machine"] });
    let in_channels: fn(usize) -> bool = |nth| nth % 40 < 20;
    let in_repos: fn(usize) -> bool = |nth| nth % 3 != 0 && matches!(nth % 8, 1 | 2 | 5);
    let of = |kind, filter, allows| Predicate { kind, filter, allows };
    vec![
        of("all", json!({ "kind": "all" }), |_| true),
        of("channels-in", channels.clone(), in_channels),
        of("user-is", user.clone(), |nth| nth % 25 == 7),
        of("repos-in", repos.clone(), in_repos),
        of("visibility-in", words.clone(), |nth| matches!(nth % 5, 0 | 3)),
        of("or", json!({ "kind": "or", "of": [user, words, channels.clone()] }), |nth| {
            nth % 25 == 7 || matches!(nth % 5, 0 | 3) || nth % 40 < 20
        }),
        of("and", json!({ "kind": "and", "of": [channels, repos] }), |nth| {
            nth % 40 < 20 && nth % 3 != 0 && matches!(nth % 8, 1 | 2 | 5)
        }),
    ]
}

/// The lists of one predicate: the request of its first, a middle and its last full page.
pub fn pages(history: &History, predicate: &Predicate, limit: usize) -> [(&'static str, Ask); 3] {
    let allowed: Vec<_> = (0..history.count).filter(|nth| (predicate.allows)(*nth)).collect();
    let mut first = json!({ "storeKey": RUNS, "limit": limit });
    if predicate.kind != "all" {
        first["visibleTo"] = predicate.filter.clone();
    }
    let before = |index: usize| {
        let mut body = first.clone();
        if let Some(nth) = allowed.get(index) {
            body["before"] = json!(history.finished_at(*nth));
            body["beforeId"] = json!(run_id(*nth));
        }
        Ask::json("/runs/list", &body)
    };
    let (middle, last) = (before(allowed.len() / 2), before(limit));
    [("first", Ask::json("/runs/list", &first)), ("middle", middle), ("last", last)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_page_has_just_as_many_runs_behind_it() {
        let history = History::new(2002).unwrap();
        for predicate in predicates() {
            let [_, _, (_, last)] = pages(&history, &predicate, 50);
            let body: Value = serde_json::from_str(&last.body.unwrap()).unwrap();
            let before = body["before"].as_i64().unwrap();
            let behind =
                (0..2000).filter(|nth| (predicate.allows)(*nth) && history.finished_at(*nth) < before);
            assert_eq!(behind.count(), 50, "{}", predicate.kind);
        }
    }

    #[test]
    fn the_large_record_is_nearly_as_large_as_records_get() {
        let body = History::new(2).unwrap().puts_large().unwrap()().body.unwrap();
        assert!((1_500_000..1_572_864).contains(&body.len()), "{}", body.len());
    }
}
