//! `cargo xtask bench overload`: how long a few clients wait while others exceed their limits.
//!
//! The measured clients have a token each and send an asynchronous request at an interval. Their
//! wait until the 202 is measured without other load, beside 200 clients on a greedy token, and
//! beside connections that never finish a request, in turns. The greedy clients share an interval
//! per client, so the load does not depend on the responses. Identifiers beyond every limit are
//! sent at the end, and must be rejected.
//!
//! Not here: that each request under these loads has the right answer and record (`tests/drills`).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ars_raw_http::Connection;
use ars_raw_http::overload::{
    self, CLIENTS, IDENTIFIERS, LONG, UNFINISHED, Unfinished, connect_from, peer, quantile,
};
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::aims::{OVERLOAD, Verdicts};
use super::model::{self, Model, Script};
use super::serve::Serve;
use crate::cargo::{self, Target};
use crate::terminal::Step;
use crate::up::http;

/// The greedy token.
const GREEDY: &str = "greedy";
/// Pause of a greedy client after each answer: 200 clients send up to 2,000 requests in a second.
const GREEDY_PAUSE: Duration = Duration::from_millis(100);
/// Clients of the greedy token from one address. A peer may have 64 connections.
const GREEDY_PER_PEER: usize = 50;
/// The first address of the greedy clients, beside those of unfinished requests.
const GREEDY_PEER: usize = 100;
/// Open files that this process needs beside the connections.
const OTHER_FILES: usize = 1_000;
/// Interval at which the bot is asked whether its runs have ended.
const LOOK: Duration = Duration::from_millis(20);
/// Longest wait for their end.
const RUNS_LIMIT: Duration = Duration::from_secs(120);

/// How long to measure, and where.
#[derive(Debug, Args)]
pub struct Options {
    /// Take about a fifth of the time
    #[arg(long)]
    quick: bool,
    /// Directory of the data; in memory by default, so that no disk is measured
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Measure the bot as it was built last, without building it: to repeat a measurement
    #[arg(long)]
    as_built: bool,
    /// Fail when the others wait longer than their target
    #[arg(long)]
    check: bool,
    /// Measure once, briefly, with the bot as tests start it: shows that it works, not how fast
    #[arg(long, conflicts_with_all = ["quick", "as_built", "check"])]
    smoke: bool,
}

/// The size of a measurement.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Times that each load is measured.
    rounds: usize,
    /// Measured clients.
    others: usize,
    /// Requests of each in a round, below the limit of a token in a minute.
    requests: usize,
    /// Interval between two of them.
    interval: Duration,
    /// Clients of the greedy token.
    greedy: usize,
    /// Addresses of connections that never finish a request, and their number from each.
    unfinished: [usize; 2],
}

impl Options {
    /// The smallest measurement, which any machine can run.
    pub fn smoke(dir: &Path) -> Self {
        Self {
            quick: false,
            dir: dir.to_owned(),
            as_built: false,
            check: false,
            smoke: true,
        }
    }

    fn plan(&self) -> Plan {
        let interval = Duration::from_millis(200);
        let full = Plan {
            rounds: 5,
            others: 8,
            requests: 50,
            interval,
            greedy: CLIENTS - 8,
            unfinished: UNFINISHED,
        };
        match (self.smoke, self.quick) {
            (true, _) => Plan {
                rounds: 1,
                others: 2,
                requests: 4,
                interval: Duration::from_millis(20),
                greedy: 8,
                unfinished: [2, 20],
            },
            (_, true) => Plan {
                rounds: 2,
                requests: 25,
                ..full
            },
            _ => full,
        }
    }
}

/// Loads beside the measured clients.
const LOADS: [&str; 3] = ["no other load", "the greedy token", "unfinished requests"];

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let plan = options.plan();
    let step = Step::begin("bot and model");
    let (ars, model) = programs(options, &step)?;
    step.done("");
    let [peers, of_each] = plan.unfinished;
    let files = raise_open_files(peers * of_each + plan.greedy + OTHER_FILES)?;
    let model = Model::start(&model, Script::instant(0))?;
    let place = tempfile::tempdir_in(&options.dir)?;
    let bot = serve(&ars, place.path(), model.url(), &plan)?;
    let mut bench = Bench {
        address: address(&bot)?,
        bot,
        plan,
        sent: 0,
        refused: 0,
        opened: 0,
        held: 0,
    };

    let mut waits: [Vec<Duration>; 3] = Default::default();
    for round in 0..plan.rounds {
        let step = Step::begin(&format!("round {} of {}", round + 1, plan.rounds));
        waits[0].extend(bench.measure(round, 0)?);
        bench.settled()?;
        waits[1].extend(bench.beside_greedy(round)?);
        bench.settled()?;
        waits[2].extend(bench.beside_unfinished(round)?);
        bench.settled()?;
        step.done("");
    }
    bench.long_identifiers()?;
    let mut verdicts = Verdicts::default();
    println!("{}", table(waits, &mut verdicts));
    println!(
        "  the greedy token sent {} requests from {} clients, {} were refused\n  \
         {} of {} unfinished requests opened ({files} files allowed), {} held at the end of a round\n  \
         identifiers of {LONG} bytes: 400",
        bench.sent,
        plan.greedy,
        bench.refused,
        bench.opened,
        peers * of_each,
        bench.held,
    );
    if options.check {
        verdicts.check()
    } else {
        Ok(())
    }
}

fn programs(options: &Options, step: &Step) -> Result<(PathBuf, PathBuf)> {
    if options.as_built {
        let built = ars_workerd::repo_root().join("target/release");
        return Ok((built.join("ars"), built.join("examples/instant_model")));
    }
    let profile = if options.smoke { "dev" } else { "release" };
    let ars = cargo::build(
        Target {
            package: "ars",
            kind: "--bin",
            name: "ars",
            profile,
        },
        step,
    )?;
    Ok((
        ars,
        cargo::build(
            Target {
                profile,
                ..model::TARGET
            },
            step,
        )?,
    ))
}

/// Raises the limit of open files, also that of the bot, as far as possible. Returns the limit.
fn raise_open_files(wanted: usize) -> Result<u64> {
    let wanted = u64::try_from(wanted)?;
    let own = getrlimit(Resource::Nofile);
    let more = own.maximum.map(|maximum| maximum.max(wanted));
    // Only root may raise the maximum.
    let raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: more,
            maximum: more,
        },
    );
    if raised.is_err() {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: own.maximum,
                ..own
            },
        )?;
    }
    Ok(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
}

/// Starts the bot with an embedded store, the limits as shipped, and a token for each client and round.
fn serve(ars: &Path, data: &Path, model: &str, plan: &Plan) -> Result<Serve> {
    let mut tokens = json!({ GREEDY: { "subject": GREEDY } });
    for round in 0..plan.rounds {
        for load in 0..LOADS.len() {
            for client in 0..plan.others {
                let token = token(round, load, client);
                tokens[&token] = json!({ "subject": token });
            }
        }
    }
    Serve::start(ars, data, |command| {
        command
            .args([
                "--store",
                "embedded",
                "--model",
                "anthropic/instant",
                "--data-dir",
            ])
            .arg(data)
            .env_clear()
            .env("ANTHROPIC_BASE_URL", model)
            .env("ANTHROPIC_API_KEY", "bench")
            .env("SERVICE_INGRESS_TOKENS", tokens.to_string());
    })
}

fn address(bot: &Serve) -> Result<SocketAddr> {
    bot.url()
        .trim_start_matches("http://")
        .parse()
        .context("the bot's address")
}

/// Returns the token of a measured client, which has one for each round and load: its rate is limited.
fn token(round: usize, load: usize, client: usize) -> String {
    format!("other-{round}-{load}-{client}")
}

/// A bot under measurement.
struct Bench {
    bot: Serve,
    address: SocketAddr,
    plan: Plan,
    /// Requests of the greedy token, and those that were refused.
    sent: u64,
    refused: u64,
    /// The least connections that were opened and held in a round.
    opened: usize,
    held: usize,
}

impl Bench {
    /// Returns the waits of the measured clients, each on one connection.
    fn measure(&self, round: usize, load: usize) -> Result<Vec<Duration>> {
        let Plan {
            others,
            requests,
            interval,
            ..
        } = self.plan;
        let client = |number: usize| -> Result<Vec<Duration>> {
            let token = token(round, load, number);
            let mut connection = Connection::open(self.address)?;
            // The clients do not send in step.
            thread::sleep(interval * u32::try_from(number)? / u32::try_from(others)?);
            let mut waits = Vec::with_capacity(requests);
            for request in 0..requests {
                let bytes = overload::request(&token, "thread", &format!("{token}-{request}"));
                let sent = Instant::now();
                let (status, _) = connection.exchange(&bytes)?;
                waits.push(sent.elapsed());
                ensure!(
                    status == 202,
                    "a client beside {} was answered {status}",
                    LOADS[load]
                );
                thread::sleep(interval);
            }
            Ok(waits)
        };
        let waits: Result<Vec<_>> = thread::scope(|scope| {
            let client = &client;
            let clients: Vec<_> = (0..others)
                .map(|number| scope.spawn(move || client(number)))
                .collect();
            clients
                .into_iter()
                .map(|client| client.join().unwrap_or_else(|_| Err(broken_off())))
                .collect()
        });
        Ok(waits?.concat())
    }

    /// Measures while the clients of the greedy token send as long as that takes.
    fn beside_greedy(&mut self, round: usize) -> Result<Vec<Duration>> {
        let (is_over, sent, refused) =
            (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let greedy = |number: usize| -> Result<()> {
            let from = peer(GREEDY_PEER + number / GREEDY_PER_PEER);
            let mut connection = Connection::over(connect_from(from, self.address)?)?;
            for request in 0_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                // In its own thread: a slow run in the same thread would be steered, which is
                // answered otherwise.
                let thread = format!("greedy-{round}-{number}-{request}");
                let (status, _) =
                    connection.exchange(&overload::request(GREEDY, "thread", &thread))?;
                ensure!(
                    [202, 429].contains(&status),
                    "the greedy token was answered {status}"
                );
                sent.fetch_add(1, Ordering::Relaxed);
                refused.fetch_add(u64::from(status == 429), Ordering::Relaxed);
                thread::sleep(GREEDY_PAUSE);
            }
            Ok(())
        };
        let waits = thread::scope(|scope| {
            let greedy = &greedy;
            let clients: Vec<_> = (0..self.plan.greedy)
                .map(|number| scope.spawn(move || greedy(number)))
                .collect();
            let waits = self.measure(round, 1);
            is_over.store(true, Ordering::Relaxed);
            let ended: Result<Vec<()>> = clients
                .into_iter()
                .map(|client| client.join().unwrap_or_else(|_| Err(broken_off())))
                .collect();
            ended.and(waits)
        })?;
        self.sent += sent.into_inner();
        self.refused += refused.into_inner();
        ensure!(
            self.refused > 0 || self.plan.rounds == 1,
            "the greedy token was never refused"
        );
        Ok(waits)
    }

    /// Measures while connections that never finish a request are open.
    fn beside_unfinished(&mut self, round: usize) -> Result<Vec<Duration>> {
        let unfinished = Unfinished::open(self.address, self.plan.unfinished);
        let waits = self.measure(round, 2)?;
        let least = |known: usize, new: usize| if round == 0 { new } else { known.min(new) };
        self.opened = least(self.opened, unfinished.opened());
        self.held = least(self.held, unfinished.held());
        ensure!(self.opened > 0, "no unfinished request was accepted");
        Ok(waits)
    }

    /// Sends identifiers beyond every limit.
    fn long_identifiers(&self) -> Result<()> {
        let long = "x".repeat(LONG);
        for field in IDENTIFIERS {
            let mut connection = Connection::open(self.address)?;
            // The greedy token would be refused before its fields are read.
            connection.send(&overload::request(&token(0, 0, 0), field, &long))?;
            let answer = connection.answer("POST")?;
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            ensure!(
                answer.status == 400,
                "{field} of {LONG} bytes: {} {body:.300}",
                answer.status
            );
        }
        Ok(())
    }

    /// Waits until every run has ended, so that none counts for the next load.
    fn settled(&self) -> Result<()> {
        let began = Instant::now();
        while http::in_flight(self.bot.url())? > 0 {
            ensure!(
                began.elapsed() < RUNS_LIMIT,
                "the runs did not end in {RUNS_LIMIT:?}"
            );
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

fn broken_off() -> anyhow::Error {
    anyhow::anyhow!("a client broke off")
}

fn table(waits: [Vec<Duration>; 3], verdicts: &mut Verdicts) -> String {
    let mut text = format!("Wait of {} requests for their 202:\n", waits[0].len());
    let quantiles = waits.map(|waits| match waits.is_empty() {
        // Anything not measured misses its limit.
        true => [f64::NAN; 2],
        false => [50, 99].map(|percent| quantile(waits.clone(), percent).as_secs_f64()),
    });
    for (load, [p50, p99]) in LOADS.iter().zip(quantiles) {
        text += &format!(
            "  {load:<20} p50 {:>8.3} ms, p99 {:>8.3} ms\n",
            p50 * 1000.0,
            p99 * 1000.0
        );
    }
    let [[_, idle], loaded @ ..] = quantiles;
    for (load, [_, p99]) in LOADS[1..].iter().zip(loaded) {
        text += &verdicts.hold(OVERLOAD, &format!(", {load}"), p99 / idle);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_to_the_idle_wait_decides() {
        let of = |ms| vec![Duration::from_millis(ms); 3];
        let mut verdicts = Verdicts::default();
        let met = table([of(2), of(3), of(4)], &mut verdicts);
        assert!(
            met.contains("without the load, the greedy token: 1.50 times, at most 2 times: ok"),
            "{met}"
        );
        assert!(
            met.contains("unfinished requests: 2.00 times, at most 2 times: ok"),
            "{met}"
        );
        assert!(verdicts.check().is_ok());
        for waits in [[of(2), of(5), of(2)], [of(2), of(2), Vec::new()]] {
            let mut verdicts = Verdicts::default();
            table(waits, &mut verdicts);
            assert!(verdicts.check().is_err());
        }
    }
}
