//! Slices of load: clients that ask one after another for a while, and what that took.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use super::{Connection, Source};
use crate::bench::process::Usage;

/// What one slice, or several added up, took.
#[derive(Debug, Default, Clone)]
pub struct Slice {
    /// How long each request took.
    pub latencies: Vec<Duration>,
    /// How long the slice was.
    pub wall: Duration,
    /// CPU of the Worker's process.
    pub cpu: Duration,
    /// CPU of this process, which makes the load.
    pub generator: Duration,
    /// How long the Worker's threads were ready and waited for their core, for each other or for other processes.
    pub delayed: Duration,
}

impl Slice {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.wall.as_secs_f64()
    }

    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.generator += other.generator;
        self.delayed += other.delayed;
    }

    /// CPU of the Worker for each request.
    pub fn cpu_each(&self) -> Duration {
        self.cpu / u32::try_from(self.latencies.len().max(1)).unwrap_or(u32::MAX)
    }
}

/// How long a slice lasts.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// So long.
    Time(Duration),
    /// So many requests of each client.
    Count(usize),
}

impl Until {
    fn is_over(self, began: Instant, count: usize) -> bool {
        match self {
            Self::Time(time) => began.elapsed() >= time,
            Self::Count(most) => count >= most,
        }
    }
}

/// Lets every client ask one request after another.
pub fn slice(worker: Measured, clients: &mut [Source], until: Until) -> Result<Slice> {
    let ready = Barrier::new(clients.len());
    let meter = Meter::start(worker.pid)?;
    let ran = thread::scope(|scope| {
        let ready = &ready;
        let start = |source| scope.spawn(move || client(worker.address, source, ready, until));
        let threads: Vec<_> = clients.iter_mut().map(start).collect();
        threads.into_iter().map(joined).collect::<Result<Vec<_>>>()
    });
    meter.stop(ran?.concat())
}

/// What a thread came to.
pub fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("a client panicked"))?
}

/// A Worker under measurement.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its process.
    pub pid: u32,
}

/// The clocks of a slice.
pub struct Meter {
    pid: u32,
    began: Instant,
    used: Usage,
    generator: Duration,
}

impl Meter {
    /// Starts them.
    pub fn start(pid: u32) -> Result<Self> {
        Ok(Self { pid, used: Usage::of(pid)?, generator: own_cpu()?, began: Instant::now() })
    }

    /// Reads them.
    pub fn stop(self, latencies: Vec<Duration>) -> Result<Slice> {
        let wall = self.began.elapsed();
        let used = Usage::of(self.pid)?.since(self.used);
        Ok(Slice {
            latencies,
            wall,
            cpu: used.own,
            delayed: used.delayed,
            generator: own_cpu()?.saturating_sub(self.generator),
        })
    }
}

/// CPU of this process, of threads that have ended too.
fn own_cpu() -> Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(u64::try_from(time.tv_sec)?, u32::try_from(time.tv_nsec)?))
}

fn client(address: SocketAddr, source: &mut Source, ready: &Barrier, until: Until) -> Result<Vec<Duration>> {
    let connection = Connection::open(address);
    ready.wait();
    let (mut connection, mut latencies, mut request) = (connection?, Vec::new(), Vec::new());
    let began = Instant::now();
    while !until.is_over(began, latencies.len()) {
        let ask = source();
        ask.write(&mut request);
        let sent = Instant::now();
        let (status, _) = connection.exchange(&request)?;
        latencies.push(sent.elapsed());
        ensure!(status == 200, "{} answered {status}", ask.path);
    }
    Ok(latencies)
}
