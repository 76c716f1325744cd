//! `cargo xtask bench state`: the state Worker and the TypeScript twin (`tests/bench/state.ts`).
//!
//! It measures each request's base (the empty route), writing a live run, the largest answer and
//! the usual list. Not here: correctness (`tests/workerd`, `tests/contract`).

use std::fmt::Write as _;
use std::path::Path;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, ensure};
use ars_raw_http::{Connection, Message};
use ars_workerd::{Settings, build_state_worker, ensure_npm};
use serde_json::{Value, json};

use super::compare::{Options, Row, Side, Source, TOKEN, bundle, get, measure, post};
use crate::terminal::Step;

/// The twin's entry, from the root.
const TWIN: &str = "tests/bench/state.ts";
/// The twin's class.
const CLASS: &str = "RunStore";
/// Clients in the row with many appends.
const APPENDERS: usize = 16;
/// The store for finished and live runs.
const RUNS: &str = "bench:runs";
/// The run with the largest record.
const LARGE_RUN: &str = "run-large";
/// Events in an ordinary run.
const EVENTS: usize = 6;
/// Event bytes in the large record, just below the record limit.
const LARGE_BYTES: usize = 1_572_864 - 30_000;
/// The rest of a tool call event: a few hundred bytes.
const EVENT_TAIL: &str = concat!(
    r#","at":1790000000000,"callId":"call_01J8ZQ4T5V6W","tool":"bash","ok":true,"durationMs":1834,"#,
    r#""summary":"cargo test -p ars-runs","text":"running 41 tests\n.........................................\n"#,
    r#"test result: ok. 41 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.71s\n"}"#
);

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let step = Step::begin("builds");
    let npm = ensure_npm(&|line| step.update(line))?;
    let built = build_state_worker(&|line| step.update(line))?;
    step.done("");
    options.settle()?;
    let ours = |data: &Path| Ok(Settings::new(&npm, &built, data)?.secret("MEMORY_TOKEN", TOKEN));
    let twin = |data: &Path| {
        let mut settings = Settings {
            modules: bundle(&npm, TWIN, data)?,
            ..ours(data)?
        };
        settings
            .wrangler
            .objects
            .retain(|object| object.class == CLASS);
        Ok(settings)
    };
    let sides = [
        Side::start("Rust", &options.dir, ours)?,
        Side::start("TypeScript", &options.dir, twin)?,
    ];
    let step = Step::begin("filling");
    let requests = filling(if options.smoke { 120 } else { 4_000 })?;
    thread::scope(|scope| {
        let threads = sides
            .each_ref()
            .map(|side| scope.spawn(|| fill(side, &requests)));
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow!("filling panicked"))?)
    })?;
    step.done(&format!("{} requests to each Worker", requests.len()));
    check_alike(&sides)?;
    measure(&sides, &rows(), options)
}

fn rows() -> [Row; 6] {
    let read = |path, fields: &str| post(path, &format!(r#"{{"storeKey":"{RUNS}",{fields}}}"#));
    let append = |client: usize| appends(&live_run(client), 32);
    [
        Row::repeated("empty route", 1, get("/healthz")),
        Row::repeated(
            "get of a small record",
            1,
            read("/runs/get", r#""id":"run-000100""#),
        ),
        Row::repeated(
            "get of a 1.5 MiB record",
            1,
            read("/runs/get", &format!(r#""id":"{LARGE_RUN}""#)),
        ),
        Row {
            name: "append of 32 events",
            clients: 1,
            source: Box::new(append),
        },
        Row {
            name: "append of 32 events, 16 at once",
            clients: APPENDERS,
            source: Box::new(append),
        },
        Row::repeated(
            "list of 50, first page",
            1,
            read("/runs/list", r#""limit":50"#),
        ),
    ]
}

/// Returns the requests that fill a Worker: this many finished runs, the large run, and the live
/// runs.
fn filling(count: usize) -> Result<Vec<Vec<u8>>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let newest = i64::try_from(now).context("the clock")? - 60_000;
    let put = |nth: usize, id: &str, events| {
        let age = i64::try_from(count - nth).unwrap_or_default() * 1000;
        let record = record(id, nth, newest - age, events);
        post(
            "/runs/put",
            &json!({ "storeKey": RUNS, "record": record }).to_string(),
        )
    };
    let ordinary = (0..count).map(|nth| put(nth, &format!("run-{nth:06}"), EVENTS));
    let large = put(count, LARGE_RUN, LARGE_BYTES / (EVENT_TAIL.len() + 32));
    Ok(ordinary
        .chain([large])
        .chain((0..APPENDERS).map(|client| claim(&live_run(client))))
        .collect())
}

/// Sends the requests in order.
fn fill(side: &Side, requests: &[Vec<u8>]) -> Result<()> {
    let mut connection = Connection::open(side.address)?;
    for request in requests {
        let (status, _) = connection.exchange(request)?;
        ensure!(
            status == 200,
            "{} answered {status} while filling",
            side.name
        );
    }
    Ok(())
}

fn live_run(client: usize) -> String {
    format!("append-{client}")
}

fn event(seq: usize) -> String {
    format!(r#"{{"type":"tool_result","seq":{seq}{EVENT_TAIL}"#)
}

/// Appends `count` events each to a live run, with increasing seqs.
fn appends(run: &str, count: usize) -> Source {
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
        post("/runs/append", &body)
    })
}

/// Returns a live run's claim on its own thread.
fn claim(run: &str) -> Vec<u8> {
    let run = json!({
        "runId": run, "threadKey": run, "gen": "g1", "leaseMs": 3_600_000, "startedAt": 1_790_000_000_000_i64,
        "meta": { "agent": "coding", "channelId": "slack:C001", "userId": "slack:U001", "threadKey": run },
        "card": { "channel": "C001", "ts": "1790000000.000100" },
        "system": "You work on the repository that is checked out here.", "tools": [{ "name": "bash" }],
    });
    post(
        "/runs/claim",
        &json!({ "storeKey": RUNS, "run": run }).to_string(),
    )
}

/// Returns a finished run's record.
pub(super) fn record(id: &str, nth: usize, finished: i64, events: usize) -> Value {
    let pick = |from: &[&'static str]| from[nth % from.len()];
    let events: Vec<Value> = (1..=events)
        .map(|seq| serde_json::from_str(&event(seq)).unwrap_or_default())
        .collect();
    let channel = format!("slack:C{:03}", nth % 40);
    let total = json!({ "count": 1, "durationMs": 18_000 });
    json!({
        "id": id, "label": format!("Make the tests of part {nth} pass again"),
        "agent": pick(&["coding", "review", "triage", "docs"]), "model": "anthropic/claude-sonnet",
        "channelId": channel, "userId": format!("slack:U{:03}", nth % 25), "threadKey": format!("{channel}:{nth}"),
        "repo": format!("acme/service-{}", nth % 8),
        "channelVisibility": pick(&["public", "private", "dm", "machine", "unknown"]),
        "startedAt": finished - 184_000, "finishedAt": finished, "receivedAt": finished - 184_250,
        "replyOk": true, "stepCount": 14, "schema": 2, "status": "completed",
        "eventCount": events.len(), "storedEventCount": events.len(), "truncated": false, "events": events,
        "diagnosis": {
            "eventCount": 41, "toolCalls": 12, "hasTimings": true, "runMs": 184_000, "toolTimeMs": 91_000,
            "modelTimeMs": 80_500, "verdict": "slow_tool: 1 finding, 61.0 s (67 % of tool time)",
            "byCategory": {
                "slow_tool": total, "slow_model_turn": total, "failed_tool": total, "retry": total,
                "setup_install": total, "wrap_up": total, "budget_hit": total, "infra_failure": total,
            },
            "findings": [{
                "category": "slow_tool", "severity": "high", "summary": "bash took 61 s: cargo test --workspace",
                "eventIndex": 17, "tool": "bash", "durationMs": 61_000,
            }],
        },
    })
}

/// Checks that both Workers answer the rows' requests and some rejected ones alike.
fn check_alike([ours, twin]: &[Side; 2]) -> Result<()> {
    let rejected = ["/nowhere", "/runs/get", "/runs/claim"].map(|path| post(path, "{}"));
    let anonymous =
        b"POST /runs/get HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".to_vec();
    let requests = rows().into_iter().map(|row| (row.source)(0)());
    for request in requests.chain(rejected).chain([anonymous]) {
        let [first, second] = [
            comparable(&ours.ask(&request)?)?,
            comparable(&twin.ask(&request)?)?,
        ];
        let line = String::from_utf8_lossy(&request[..request.len().min(300)]).into_owned();
        ensure!(
            first == second,
            "the Workers differ, so nothing is measured:\n{line}\n{first:.500?}\n{second:.500?}"
        );
    }
    Ok(())
}

/// Returns the parts of an answer that must be equal: for a rejection the status alone. The twin
/// words it shorter.
fn comparable(answer: &Message) -> Result<(u16, Value)> {
    let body: Value = serde_json::from_slice(&answer.body).context("an answer that is not JSON")?;
    ensure!(
        answer.status < 500 && answer.field("content-type") == Some("application/json"),
        "failed: {answer:?}"
    );
    Ok((
        answer.status,
        if answer.status == 200 {
            body
        } else {
            Value::Null
        },
    ))
}
