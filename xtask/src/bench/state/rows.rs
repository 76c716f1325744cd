//! The rows of load: what each asks, with how many clients, and what has to be there first.

use anyhow::Result;
use serde_json::json;

use super::appends::appends;
use super::data::{self, History, LARGE_RUN, PAGED, RUNS};
use super::memory;
use crate::bench::load::{Ask, Source, always};

/// The store of live runs.
pub const LIVE: &str = "bench:live";
/// Lease of the bench's claims: longer than it runs.
const LEASE_MS: u64 = 3_600_000;

/// How much of the time a row gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// One of many alike.
    Light,
    /// On its own.
    Full,
}

/// One row.
pub struct Row {
    /// Its name in the report.
    pub name: String,
    /// Its share of the time.
    pub weight: Weight,
    /// What is to be there.
    pub needs: Needs,
    /// One source for each client; made anew for each Worker.
    pub clients: Vec<Box<dyn Fn() -> Result<Source>>>,
}

impl Row {
    /// A source for each client, from the beginning.
    pub fn sources(&self) -> Result<Vec<Source>> {
        self.clients.iter().map(|client| client()).collect()
    }
}

/// What has to be there before a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// The store of finished runs.
    History,
    /// These requests.
    These(Vec<Ask>),
}

/// Every row, in the report's order.
pub fn all(history: History) -> Vec<Row> {
    let mut rows = empty();
    rows.extend(live());
    for predicate in data::predicates() {
        for limit in [50, 200] {
            for (page, ask) in data::pages(&history, &predicate, limit) {
                rows.push(Row {
                    name: format!("list {limit}, {}, {page} page", predicate.kind),
                    weight: Weight::Light,
                    needs: Needs::History,
                    clients: vec![Box::new(move || Ok(always(ask.clone())))],
                });
            }
        }
    }
    rows.extend(records(history));
    rows.extend(remembered());
    rows
}

fn full(name: &str, needs: Needs, client: impl Fn() -> Result<Source> + 'static) -> Row {
    Row { name: name.to_owned(), weight: Weight::Full, needs, clients: vec![Box::new(client)] }
}

fn empty() -> Vec<Row> {
    let unknown = Ask::json("/runs/get", &json!({ "storeKey": "bench:empty", "id": "nobody" }));
    vec![
        full("empty route, GET /healthz", Needs::Nothing, || Ok(always(Ask::get("/healthz")))),
        full("get of an unknown run", Needs::Nothing, move || Ok(always(unknown.clone()))),
    ]
}

fn live() -> Vec<Row> {
    let heartbeat = json!({ "storeKey": LIVE, "runId": "beat", "gen": "g1", "leaseMs": LEASE_MS });
    let heartbeat = Ask::json("/runs/heartbeat", &heartbeat);
    let append = |clients: usize| {
        let runs: Vec<_> = (0..clients).map(|client| format!("append-{clients}-{client}")).collect();
        let name = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
        let client = |run: String| {
            let source = move || Ok(appends(LIVE, &run, 32));
            Box::new(source) as Box<dyn Fn() -> Result<Source>>
        };
        Row {
            name: format!("append of 32 events, {name}"),
            weight: Weight::Full,
            needs: Needs::These(runs.iter().map(|run| claim(run)).collect()),
            clients: runs.into_iter().map(client).collect(),
        }
    };
    let held = claim("beat");
    vec![
        full("claim of a run that is held", Needs::These(vec![claim("beat")]), move || {
            Ok(always(held.clone()))
        }),
        full("heartbeat", Needs::These(vec![claim("beat")]), move || Ok(always(heartbeat.clone()))),
        append(1),
        append(16),
    ]
}

fn records(history: History) -> Vec<Row> {
    let page =
        |after| Ask::json("/runs/events", &json!({ "storeKey": RUNS, "id": PAGED, "afterSeq": after }));
    let get = Ask::json("/runs/get", &json!({ "storeKey": RUNS, "id": LARGE_RUN }));
    let small = Ask::json("/runs/get", &json!({ "storeKey": RUNS, "id": "run-000100" }));
    vec![
        full("events page of 1,000", Needs::History, move || Ok(always(page(2000)))),
        full("get of a small record", Needs::History, move || Ok(always(small.clone()))),
        full("get of a 1.5 MiB record", Needs::History, move || Ok(always(get.clone()))),
        full("put of a small record", Needs::History, move || Ok(history.puts_over())),
        full("put of a 1.5 MiB record", Needs::History, move || history.puts_large()),
    ]
}

fn remembered() -> Vec<Row> {
    let filled = |scope, count| Needs::These(memory::fill(scope, count));
    vec![
        full("retrieve at 500 records", filled("bench:500", 500), || Ok(memory::retrievals("bench:500"))),
        // No scope keeps more than 10,000 active: of 20,000 the older half is evicted.
        full("retrieve at 20,000 records", filled("bench:20000", 20_000), || {
            Ok(memory::retrievals("bench:20000"))
        }),
        full("write of 5 records at 500", filled("bench:500", 500), || Ok(memory::writes("bench:500", 500))),
    ]
}

/// The claim of a live run on a thread of its own.
pub fn claim(run: &str) -> Ask {
    let meta = json!({
        "agent": "coding", "channelId": "slack:C001", "userId": "slack:U001", "threadKey": run, "repo": "acme/app",
    });
    let run = json!({
        "runId": run, "threadKey": run, "gen": "g1", "leaseMs": LEASE_MS, "startedAt": 1_790_000_000_000_i64,
        "meta": meta, "card": { "channel": "C001", "ts": "1790000000.000100" },
        "system": "You work on the repository that is checked out here.", "tools": [{ "name": "bash" }],
    });
    Ask::json("/runs/claim", &json!({ "storeKey": LIVE, "run": run }))
}

/// What fills the store of finished runs.
pub fn history(history: History) -> Result<Vec<Ask>> {
    let mut asks: Vec<_> = (0..history.count).map(|nth| history.put(nth)).collect();
    asks.push(history.put_paged());
    asks.push(history.puts_large()?());
    Ok(asks)
}
