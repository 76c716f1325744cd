//! Compares Workers on the same runtime: they take turns on a core, under a load from another.
//!
//! Not here: the requests and the check that both Workers answer alike (`state`, `edge`).

mod side;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use ars_raw_http::Connection;
use clap::Args;

pub use self::side::{Side, bundle};
use super::process::Usage;

/// The one token of the measured Workers, which exist only during the measurement.
pub const TOKEN: &str = "bench";
/// The core of the measured Workers; all but one of them are idle at any time.
const WORKER_CORE: usize = 0;
/// The core of the load.
const LOAD_CORE: usize = 1;

/// How long to measure, and where.
#[derive(Debug, Args)]
pub struct Options {
    /// Take about a tenth of the time
    #[arg(long)]
    quick: bool,
    /// Only rows with this in their name; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// Directory of the Workers' data; in memory by default, so that no disk is measured
    #[arg(long, default_value = "/dev/shm")]
    pub dir: PathBuf,
    /// Run each row once, briefly: shows that it works, not how fast
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    pub smoke: bool,
}

/// The next request of one client, as bytes.
pub type Source = Box<dyn FnMut() -> Vec<u8> + Send>;

/// One row of the table.
pub struct Row {
    /// Its name in the table.
    pub name: &'static str,
    /// Clients at once.
    pub clients: usize,
    /// Makes the requests of a client by its number; each side gets its own from the beginning.
    pub source: Box<dyn Fn(usize) -> Source>,
}

impl Row {
    /// A row of clients that repeat a request.
    pub fn repeated(name: &'static str, clients: usize, request: Vec<u8>) -> Self {
        let source = move |_| -> Source {
            let request = request.clone();
            Box::new(move || request.clone())
        };
        Self {
            name,
            clients,
            source: Box::new(source),
        }
    }
}

/// Returns a GET.
pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes()
}

/// Returns a POST of JSON text.
pub fn post(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Options {
    /// The smallest measurement, which any machine can run.
    pub fn smoke(dir: &Path) -> Self {
        Self {
            quick: false,
            only: Vec::new(),
            dir: dir.to_owned(),
            smoke: true,
        }
    }

    /// Pins this process to the core of the load and raises its priority, unless this is a smoke test.
    pub fn settle(&self) -> Result<()> {
        if self.smoke {
            return Ok(());
        }
        let cores = thread::available_parallelism()?.get();
        ensure!(
            cores > LOAD_CORE,
            "two cores are needed: one for the Workers, one for the load"
        );
        // Only root may. Without it, the note below the table shows how much other processes disturbed.
        let pid = std::process::id().to_string();
        let _ = Command::new("chrt")
            .args(["--rr", "--pid", "1", &pid])
            .stderr(Stdio::null())
            .status();
        let mut set = rustix::thread::CpuSet::new();
        set.set(LOAD_CORE);
        rustix::thread::sched_setaffinity(None, &set).context("cannot pin the load to one core")
    }

    /// Returns the slices of each side, and the length of one.
    fn plan(&self) -> (usize, Duration) {
        let (rounds, ms) = match (self.smoke, self.quick) {
            (true, _) => (1, 50),
            (_, true) => (2, 300),
            _ => (6, 1200),
        };
        (rounds, Duration::from_millis(ms))
    }

    fn wants(&self, row: &Row) -> bool {
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|part| row.name.contains(part.as_str()))
    }
}

/// One slice of load, or the sum of several.
#[derive(Debug, Default, Clone)]
struct Slice {
    /// Latency of each request.
    latencies: Vec<Duration>,
    /// Length of the slice.
    wall: Duration,
    /// CPU of the server's process.
    cpu: Duration,
    /// Time for which the server's threads were ready and waited for their core.
    delayed: Duration,
}

impl Slice {
    fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.delayed += other.delayed;
    }
}

/// Measures the rows and prints the table.
pub fn measure(sides: &[Side], rows: &[Row], options: &Options) -> Result<()> {
    let (rounds, length) = options.plan();
    let mut delayed: f64 = 0.0;
    println!("{}", table::HEAD);
    for row in rows.iter().filter(|row| options.wants(row)) {
        let mut sums = measure_row(sides, row, rounds, length)?;
        let share = |slice: &Slice| slice.delayed.as_secs_f64() / slice.wall.as_secs_f64();
        delayed = sums.iter().map(share).fold(delayed, f64::max);
        println!("{}", table::line(row.name, &mut sums));
    }
    println!(
        "\nBare workerd for both Workers, on one core; the load on another. {rounds} slices of {} ms for each row and \
         side, in rotating order.\nLatencies over HTTP/1.1, kept alive, to the last byte of the answer. Beside a direct \
         p50, the p50 ratio compares what each Worker adds to it. CPU is that of all threads of the runtime, per \
         request.\nThe Workers' threads waited for their core at most {:.0} % of a row's time.",
        length.as_millis(),
        delayed * 100.0
    );
    Ok(())
}

fn measure_row(sides: &[Side], row: &Row, rounds: usize, length: Duration) -> Result<Vec<Slice>> {
    let clients = || (0..row.clients).map(&row.source).collect::<Vec<_>>();
    let mut clients: Vec<_> = sides.iter().map(|_| clients()).collect();
    // Each side's first slice does not count: it includes just-in-time compilation.
    for (side, clients) in sides.iter().zip(&mut clients) {
        slice(side, clients, length)?;
    }
    let mut sums = vec![Slice::default(); sides.len()];
    for turn in 0..rounds * sides.len() {
        let side = (turn / sides.len() + turn) % sides.len();
        sums[side].add(slice(&sides[side], &mut clients[side], length)?);
    }
    Ok(sums)
}

/// Lets each client send one request after another for this long.
fn slice(side: &Side, clients: &mut [Source], length: Duration) -> Result<Slice> {
    let ready = &Barrier::new(clients.len());
    let before = Usage::of(side.pid)?;
    let began = Instant::now();
    let latencies = thread::scope(|scope| {
        let start = |source| scope.spawn(move || run(side, source, ready, length));
        let threads: Vec<_> = clients.iter_mut().map(start).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().map_err(|_| anyhow!("a client panicked"))?
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let wall = began.elapsed();
    let used = Usage::of(side.pid)?.since(before);
    Ok(Slice {
        latencies: latencies.concat(),
        wall,
        cpu: used.own,
        delayed: used.delayed,
    })
}

fn run(
    side: &Side,
    source: &mut Source,
    ready: &Barrier,
    length: Duration,
) -> Result<Vec<Duration>> {
    let connection = Connection::open(side.address);
    ready.wait();
    let mut connection = connection?;
    let mut latencies = Vec::new();
    let began = Instant::now();
    while began.elapsed() < length {
        let request = source();
        let sent = Instant::now();
        let (status, _) = connection.exchange(&request)?;
        latencies.push(sent.elapsed());
        ensure!(status == 200, "the {} side answered {status}", side.name);
    }
    Ok(latencies)
}
