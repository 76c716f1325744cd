//! A hundred live runs, each of which flushes its events every half second, whether or not the one before was answered
//! in time: what a busy bot does to the state Worker.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::appends::appends;
use super::rows::LIVE;
use crate::bench::load::{Connection, Measured, Meter, Slice, Source, joined};

/// Live runs.
pub const RUNS: u32 = 100;
/// How often each flushes (state-worker supplement section 9.1).
const EVERY: Duration = Duration::from_millis(500);
/// Events of a flush: what an agent at work emits in that time.
const EVENTS: u64 = 8;

/// Names the live runs.
pub fn names() -> impl Iterator<Item = String> {
    (0..RUNS).map(|nth| format!("flush-{nth}"))
}

/// Where each run's events come from.
pub fn sources() -> Vec<Source> {
    names().map(|run| appends(LIVE, &run, EVENTS)).collect()
}

/// Lets all of them flush for a while. A latency counts from when the flush was due.
pub fn slice(worker: Measured, runs: &mut [Source], length: Duration) -> Result<Slice> {
    let ready = Barrier::new(runs.len());
    let meter = Meter::start(worker.pid)?;
    let ran = thread::scope(|scope| {
        let ready = &ready;
        let start = |(nth, source)| scope.spawn(move || run(worker, source, ready, nth, length));
        let threads: Vec<_> = (0..).zip(runs.iter_mut()).map(start).collect();
        threads.into_iter().map(joined).collect::<Result<Vec<_>>>()
    });
    meter.stop(ran?.concat())
}

fn run(
    worker: Measured,
    source: &mut Source,
    ready: &Barrier,
    nth: u32,
    length: Duration,
) -> Result<Vec<Duration>> {
    let connection = Connection::open(worker.address);
    ready.wait();
    let (mut connection, mut latencies, mut request) = (connection?, Vec::new(), Vec::new());
    let began = Instant::now();
    // The runs' flushes are spread over the half second.
    let mut due = EVERY * nth / RUNS;
    while due < length {
        source().write(&mut request);
        thread::sleep(due.saturating_sub(began.elapsed()));
        let (status, _) = connection.exchange(&request)?;
        latencies.push(began.elapsed().saturating_sub(due));
        ensure!(status == 200, "a flush answered {status}");
        due += EVERY;
    }
    Ok(latencies)
}
