//! What is measured of a Worker as a whole: a hundred live runs at once, its memory under many requests, how soon it
//! answers after a kill, and its size.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::appends::appends;
use super::contest::Contest;
use super::data::RUNS;
use super::flush;
use super::report::WholeLine;
use super::rows::{LIVE, Needs, claim};
use super::side::Side;
use crate::bench::load::{Ask, Source, Until, percentile, slice};
use crate::bench::process::{peak_kb, resident_kb};

/// Clients that ask at once while the memory is watched; as few as when the Workers are filled, and for that reason.
const CLIENTS: usize = 4;

/// One thing to measure.
pub struct Whole {
    /// What `--only` knows it by.
    pub name: &'static str,
    /// Measures it.
    pub measure: fn(&mut Contest) -> Result<Vec<WholeLine>>,
}

/// All of them, in the report's order.
pub const ALL: [Whole; 4] = [
    Whole { name: "live runs", measure: live_runs },
    Whole { name: "memory", measure: memory },
    Whole { name: "restart", measure: restarts },
    Whole { name: "size", measure: size },
];

fn live_runs(contest: &mut Contest) -> Result<Vec<WholeLine>> {
    let line = |part, values, unit| WholeLine {
        name: format!("{} live runs flush every 500 ms, {part}", flush::RUNS),
        values,
        unit,
    };
    let mut slices = contest.flush()?;
    let mut latency = |share| slices.each_mut().map(|slice| ms(percentile(&mut slice.latencies, share)));
    let (p50, p99) = (latency(0.5), latency(0.99));
    let cpu = slices.map(|slice| slice.cpu.as_secs_f64() / slice.wall.as_secs_f64() * 100.0);
    Ok(vec![line("p50", p50, "ms"), line("p99", p99, "ms"), line("CPU", cpu, "% of a core")])
}

fn memory(contest: &mut Contest) -> Result<Vec<WholeLine>> {
    let requests = contest.plan.requests;
    let [ours, theirs] = &mut contest.sides;
    let memory = [watch(ours, requests)?, watch(theirs, requests)?];
    let line = |name: String, of: fn(&Memory) -> u64| WholeLine {
        name,
        values: memory.each_ref().map(|memory| of(memory) as f64 / 1024.0),
        unit: "MB",
    };
    Ok(vec![
        line("memory, fresh".to_owned(), |memory| memory.fresh),
        line(format!("memory after {requests} requests"), |memory| memory.after),
        line("memory, peak".to_owned(), |memory| memory.peak),
    ])
}

fn restarts(contest: &mut Contest) -> Result<Vec<WholeLine>> {
    contest.provide(&Needs::History)?;
    let read = Ask::json("/runs/list", &json!({ "storeKey": RUNS, "limit": 1 }));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..contest.plan.restarts {
        for (side, times) in contest.sides.iter_mut().zip(&mut times) {
            times.push(restart(side, &read)?);
        }
    }
    let mut line = |part, share| WholeLine {
        name: format!("first answer of a store after a kill and restart, {part}"),
        values: times.each_mut().map(|times| ms(percentile(times, share))),
        unit: "ms",
    };
    Ok(vec![line("median", 0.5), line("slowest", 1.0)])
}

fn size(contest: &mut Contest) -> Result<Vec<WholeLine>> {
    let values = contest.sides.each_ref().map(|side| side.gzip_bytes as f64 / 1000.0);
    Ok(vec![WholeLine { name: "size, compressed".to_owned(), values, unit: "kB" }])
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Memory of the runtime's process, in kB.
struct Memory {
    /// Just started, with one request answered.
    fresh: u64,
    /// After all requests.
    after: u64,
    /// At most.
    peak: u64,
}

/// Starts the Worker anew and sends it so many requests of every kind.
fn watch(side: &mut Side, requests: usize) -> Result<Memory> {
    side.kill();
    side.start()?;
    let runs: Vec<_> = (0..CLIENTS).map(|client| format!("memory-{client}")).collect();
    for run in &runs {
        side.must(&claim(run))?;
    }
    let worker = side.measured()?;
    let fresh = resident_kb(worker.pid)?;
    let mut clients: Vec<_> = runs.iter().map(|run| mixed(run)).collect();
    slice(worker, &mut clients, Until::Count(requests / CLIENTS))?;
    Ok(Memory { fresh, after: resident_kb(worker.pid)?, peak: peak_kb(worker.pid)? })
}

/// Appends, heartbeats, pages of live rows and reads of nothing, by turns.
fn mixed(run: &str) -> Source {
    let mut append = appends(LIVE, run, 8);
    let heartbeat = json!({ "storeKey": LIVE, "runId": run, "gen": "g1", "leaseMs": 30_000 });
    let heartbeat = Ask::json("/runs/heartbeat", &heartbeat);
    let events = Ask::json("/runs/events", &json!({ "storeKey": LIVE, "id": run }));
    let list = Ask::json("/runs/list", &json!({ "storeKey": LIVE }));
    let mut turn = 0;
    Box::new(move || {
        turn += 1;
        match turn % 4 {
            0 => append(),
            1 => heartbeat.clone(),
            2 => events.clone(),
            _ => list.clone(),
        }
    })
}

/// Kills the Worker and tells how long the new process takes, from its start, to answer a read of the store.
fn restart(side: &mut Side, read: &Ask) -> Result<Duration> {
    side.kill();
    let began = Instant::now();
    side.start()?;
    side.must(read)?;
    Ok(began.elapsed())
}
