//! `cargo xtask bench state`: the state Worker and its TypeScript twin (`tests/bench/twin`).
//!
//! Not here: correctness (`tests/workerd`, `tests/contract`).

mod data;

use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use ars_raw_http::{Connection, Message};
use ars_workerd::{Settings, build_state_worker, ensure_npm};
use serde_json::{Value, json};

use self::data::{History, LARGE_RUN, PAGED_RUN, RUNS, appends, claim, memories, retrievals};
use super::compare::{Ask, Options, Row, Side, TOKEN, bundle, copy_modules, measure};
use crate::terminal::Step;

/// The twin's entry, from the root.
const TWIN: &str = "tests/bench/twin/src/index.ts";
/// The classes of the twin.
const CLASSES: [&str; 2] = ["RunStore", "MemoryScope"];
/// Clients of the row of many appends.
const APPENDERS: usize = 16;
/// Scopes of the memory rows, and how many records each has.
const SCOPES: [(&str, usize); 2] = [("bench:500", 500), ("bench:10000", 10_000)];
/// Fields with a time of the answering Worker's clock.
const CLOCKED: [&str; 3] = ["leaseUntil", "createdAt", "lastUsedAt"];

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let step = Step::begin("builds");
    let npm = ensure_npm(&|line| step.update(line))?;
    let built = build_state_worker(&|line| step.update(line))?;
    step.done("");
    options.settle()?;
    let ours = |data: &Path| Ok(Settings::new(&npm, &built, data)?.secret("MEMORY_TOKEN", TOKEN));
    let twin = |data: &Path| {
        let mut settings = ours(data)?;
        settings.wrangler.objects.retain(|object| CLASSES.contains(&object.class.as_str()));
        anyhow::Ok(settings)
    };
    let sides = [
        Side::start("Rust", &options.dir, |folder| copy_modules(&built.modules, folder), ours)?,
        Side::start("TypeScript", &options.dir, |folder| bundle(&npm, TWIN, folder), twin)?,
    ];
    let history = History::new(if options.is_smoke() { 120 } else { 4_000 })?;
    let step = Step::begin("filling");
    let asks = filling(history);
    fill(&sides, &asks)?;
    step.done(&format!("{} requests to each Worker", asks.len()));
    let rows = rows(history);
    check_alike(&sides, &rows)?;
    measure(&sides, &rows, options)
}

fn rows(history: History) -> Vec<Row> {
    let read = |path, fields: Value| {
        let mut body = json!({ "storeKey": RUNS });
        if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
            body.extend(fields);
        }
        Ask::json(path, &body)
    };
    let get = |id: &str| read("/runs/get", json!({ "id": id }));
    let list = |limit: u32| read("/runs/list", json!({ "limit": limit }));
    let beat = json!({ "runId": "beat", "gen": "g1", "leaseMs": data::LEASE_MS });
    let append = |client: usize| appends(&format!("append-{client}"), 32);
    let retrieve = |name, (scope, _)| Row::single(name, move || retrievals(scope));
    vec![
        Row::repeated("empty route", Ask::get("/healthz")),
        Row::repeated("get of an unknown run", get("unknown")),
        Row::repeated("get of a small record", get("run-000100")),
        Row::repeated("get of a 1.5 MiB record", get(LARGE_RUN)),
        Row::repeated("heartbeat", read("/runs/heartbeat", beat)),
        Row::repeated("repeated claim", claim("beat")),
        Row::single("append of 32 events", move || append(0)),
        Row { name: "append of 32 events, 16 at once", clients: APPENDERS, source: Box::new(append) },
        Row::repeated("list of 50, first page", list(50)),
        Row::repeated("list of 200, first page", list(200)),
        Row::repeated(
            "events, page of 1,000",
            read("/runs/events", json!({ "id": PAGED_RUN, "afterSeq": 2000 })),
        ),
        Row::single("put of a small record", move || history.puts()),
        Row::single("put of a 1.5 MiB record", move || history.large_puts()),
        retrieve("retrieve of 500 records", SCOPES[0]),
        retrieve("retrieve of 10,000 records", SCOPES[1]),
    ]
}

/// Requests that fill a Worker.
fn filling(history: History) -> Vec<Ask> {
    let live = (0..APPENDERS).map(|client| claim(&format!("append-{client}")));
    let memory = SCOPES.iter().flat_map(|(scope, count)| memories(scope, *count));
    let mut asks = history.fill();
    asks.extend(live.chain([claim("beat")]).chain(memory));
    asks
}

/// Sends each request to both Workers, in order.
fn fill(sides: &[Side; 2], asks: &[Ask]) -> Result<()> {
    let fill = |side: &Side| {
        let mut connection = Connection::open(side.address)?;
        for ask in asks {
            let (status, _) = connection.exchange(&ask.bytes())?;
            ensure!(status == 200, "{}: {} answered {status} while filling", side.name, ask.path);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads = sides.each_ref().map(|side| scope.spawn(move || fill(side)));
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("filling panicked"))?)
    })
}

/// Checks that both Workers answer the rows' requests and some rejected ones alike.
fn check_alike([ours, twin]: &[Side; 2], rows: &[Row]) -> Result<()> {
    let rejected =
        ["/nowhere", "/runs/get", "/runs/claim", "/retrieve"].map(|path| Ask::json(path, &json!({})));
    let anonymous = b"POST /runs/get HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".to_vec();
    let requests = rows.iter().map(|row| row.sources()[0]().bytes());
    for request in requests.chain(rejected.iter().map(Ask::bytes)).chain([anonymous]) {
        let [first, second] = [comparable(&ours.ask(&request)?)?, comparable(&twin.ask(&request)?)?];
        let line = String::from_utf8_lossy(&request[..request.len().min(300)]).into_owned();
        ensure!(
            first == second,
            "the Workers differ, so nothing is measured:\n{line}\n{first:.500?}\n{second:.500?}"
        );
    }
    Ok(())
}

/// Returns the parts of an answer that must be equal: of a rejection the status alone, because the twin words it shorter.
fn comparable(answer: &Message) -> Result<(u16, Value)> {
    let body: Value = serde_json::from_slice(&answer.body).context("an answer that is not JSON")?;
    ensure!(
        answer.status < 500 && answer.field("content-type") == Some("application/json"),
        "failed: {answer:?}"
    );
    Ok((answer.status, if answer.status == 200 { unclocked(body) } else { Value::Null }))
}

fn unclocked(value: Value) -> Value {
    match value {
        Value::Array(entries) => entries.into_iter().map(unclocked).collect(),
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !CLOCKED.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name, unclocked(value))).collect())
        }
        other => other,
    }
}
